// shoal.h from C++, linked with the shared library: the way of a stranger.
#include <shoal.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include <unistd.h>

namespace
{
int cases;
bool broken;

void expect(bool holds, const char *sentence)
{
    std::printf("%sok %d - %s\n", holds ? "" : "not ", ++cases, sentence);
    if (!holds) {
        broken = true;
        std::printf("# last failure: %s\n", shoal_error());
    }
}

using vocab_ptr = std::unique_ptr<shoal_vocab, void (*)(shoal_vocab *)>;
using corpus_ptr = std::unique_ptr<shoal_corpus, void (*)(shoal_corpus *)>;
using options_ptr = std::unique_ptr<shoal_options, void (*)(shoal_options *)>;
using data_ptr = std::unique_ptr<shoal_data, void (*)(shoal_data *)>;
using model_ptr = std::unique_ptr<shoal_model, void (*)(shoal_model *)>;

void count_and_look_up(const std::string &text)
{
    const char *inputs[] = {text.c_str()};
    shoal_vocab_opts opts = shoal_vocab_default();
    shoal_vocab *made = nullptr;

    opts.min_count = 1;
    shoal_status st = shoal_vocab_build(&made, inputs, 1, &opts, nullptr);
    vocab_ptr vocab(made, shoal_vocab_free);
    expect(st == SHOAL_OK, "C++ counts a text");
    expect(vocab && shoal_vocab_word(vocab.get(), 0) == std::string("the") &&
               shoal_vocab_count(vocab.get(), 0) == 3,
           "C++ finds the commonest word first");
    expect(vocab && shoal_vocab_find(vocab.get(), "whale", 5) == SHOAL_NO_ID,
           "C++ is told of a word that is not there");
}

void encode_and_map(const std::string &text, const std::string &path)
{
    const char *inputs[] = {text.c_str()};
    shoal_encode_opts opts = shoal_encode_default();
    shoal_corpus *opened = nullptr;
    const uint32_t *ids = nullptr;
    size_t n = 0;

    opts.vocab.min_count = 1;
    expect(shoal_encode(path.c_str(), inputs, 1, &opts, nullptr) == SHOAL_OK,
           "C++ encodes a text");
    shoal_status st = shoal_corpus_open(&opened, path.c_str());
    corpus_ptr corpus(opened, shoal_corpus_close);
    expect(st == SHOAL_OK, "C++ maps the encoded corpus");
    expect(corpus && shoal_corpus_words(corpus.get()) == 7 &&
               shoal_corpus_sentences(corpus.get()) == 2,
           "C++ counts its words and sentences");
    expect(corpus && shoal_corpus_part(corpus.get(), 0, 1, &ids, &n) == SHOAL_OK && n == 9 &&
               ids[0] == 0 && ids[n - 1] == SHOAL_SENTENCE_END,
           "C++ reads the ids in place");
}

bool count_epochs(void *user, const shoal_report *report)
{
    *static_cast<int *>(user) += report->event == SHOAL_EVENT_EPOCH;
    return true;
}

void train_by_name(const std::string &path)
{
    const char *values[][2] = {{"dim", "4"}, {"epochs", "2"}, {"loss", "hs"}};
    const char *inputs[] = {path.c_str()};
    shoal_options *made = nullptr;
    shoal_data *opened = nullptr;
    shoal_model *trained = nullptr;
    shoal_train_how how = {};
    int epochs = 0;

    shoal_status st = shoal_options_new(&made, "skipgram");
    options_ptr options(made, shoal_options_free);
    for (const auto &value : values)
        if (st == SHOAL_OK)
            st = shoal_options_set(options.get(), value[0], value[1]);
    expect(st == SHOAL_OK, "C++ names options");
    st = shoal_data_open(&opened, options.get(), inputs, 1, nullptr, nullptr);
    data_ptr data(opened, shoal_data_close);
    expect(st == SHOAL_OK, "C++ opens what to learn from");
    how.report = count_epochs;
    how.user = &epochs;
    st = data ? shoal_train(&trained, options.get(), data.get(), &how, nullptr) : SHOAL_EINVAL;
    model_ptr model(trained, shoal_model_close);
    expect(st == SHOAL_OK && epochs == 2, "C++ trains, and is told of each epoch");
    expect(model && shoal_vectors_size(shoal_model_vectors(model.get())) == 5,
           "C++ has a vector of each word");
}
} // namespace

int main()
{
    char folder[] = "/tmp/shoal-cpp-XXXXXX";

    if (!mkdtemp(folder))
        return 1;
    const std::string text = std::string(folder) + "/text.txt";
    const std::string path = std::string(folder) + "/text.shoal";
    std::ofstream(text) << "the cat and the dog\nthe end\n";

    count_and_look_up(text);
    encode_and_map(text, path);
    train_by_name(path);
    std::remove(text.c_str());
    std::remove(path.c_str());
    expect(rmdir(folder) == 0, "nothing else is left behind");
    std::printf("1..%d\n", cases);
    return broken ? 1 : 0;
}
