"""The library as ctypes sees it. Made by scripts/python_abi.py of the headers: do not edit."""
# fmt: off
# flake8: noqa
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float,
                    c_int, c_size_t, c_uint, c_uint32, c_uint64, c_void_p)

SHOAL_VERSION_NUM = 200
SHOAL_WORD_MAX = 65535
SHOAL_STALE_BINS = 16
SHOAL_CLICKS_CLASSES = 254
SHOAL_CLICKS_SHOWN = 5
SHOAL_CLICKS_SENTENCE = 256
SHOAL_CLICKS_EXAMPLES = 100
SHOAL_RELIABILITY_BINS = 10
SHOAL_PICTURES_MOST = 50000
SHOAL_MAP_LEAST = 4
SHOAL_MAP_MOST = 20000
SHOAL_MAP_NEAR = 10
SHOAL_MAP_NAMES = 3
SHOAL_SENTENCE = 512
SHOAL_VALUE = 256
SHOAL_PROFILE_ROWS = 64
SHOAL_REPORT_RUNS = 24
SHOAL_STUDY_AXIS = 32
SHOAL_STUDY_CELLS = 1024
SHOAL_STUDY_REPEATS = 100
SHOAL_FIGURES = 48
SHOAL_NO_ID = 4294967295
SHOAL_SENTENCE_END = 4294967295
SHOAL_OK = 0
SHOAL_EINVAL = -1
SHOAL_ENOMEM = -2
SHOAL_EIO = -3
SHOAL_EFORMAT = -4
SHOAL_ENOENT = -5
SHOAL_ELIMIT = -6
SHOAL_ESTOP = -7
SHOAL_EPEER = -8
SHOAL_EDIVERGE = -9
SHOAL_TOKENS_SPACE = 0
SHOAL_TOKENS_WORDS = 1
SHOAL_TOKENS_CHARS = 2
SHOAL_TOKENS_BIGRAMS = 3
SHOAL_BAD_REFUSE = 0
SHOAL_BAD_SPACE = 1
SHOAL_BAD_REPLACE = 2
SHOAL_BAD_KEEP = 3
SHOAL_ENCODING_UTF8 = 0
SHOAL_ENCODING_AUTO = 1
SHOAL_ENCODING_LATIN1 = 2
SHOAL_ENCODING_WINDOWS_1252 = 3
SHOAL_ENCODING_UTF16 = 4
SHOAL_FORMAT_AUTO = 0
SHOAL_FORMAT_WORD2VEC = 1
SHOAL_FORMAT_TEXT = 2
SHOAL_FORMAT_GLOVE = 3
SHOAL_FORMAT_SHOAL = 4
SHOAL_FORMAT_NPY = 5
SHOAL_FORMAT_SAFETENSORS = 6
SHOAL_FORMAT_FASTTEXT = 7
SHOAL_FORMAT_FLORET = 8
SHOAL_FORMAT_ONNX = 9
SHOAL_FORMAT_NPZ = 10
SHOAL_F32 = 0
SHOAL_F16 = 1
SHOAL_BF16 = 2
SHOAL_INT8 = 3
SHOAL_3COSADD = 0
SHOAL_3COSMUL = 1
SHOAL_ANALOGIES = 0
SHOAL_PAIRS = 1
SHOAL_ASYNC = 0
SHOAL_BOUNDED = 1
SHOAL_SYNC = 2
SHOAL_AVERAGE = 3
SHOAL_WIRE_F32 = 0
SHOAL_WIRE_BF16 = 1
SHOAL_WIRE_INT8 = 2
SHOAL_WIRE_INT4 = 3
SHOAL_WIRE_AUTO = 4
SHOAL_TARGET_ANY = 0
SHOAL_TARGET_VALID = 1
SHOAL_TARGET_TRAIN = 2
SHOAL_WORKER_RANK = 0
SHOAL_WORKER_THREAD = 1
SHOAL_STRONG = 0
SHOAL_WEAK = 1
SHOAL_STRONG_AND_WEAK = 2
SHOAL_HEADER_AUTO = 0
SHOAL_HEADER_YES = 1
SHOAL_HEADER_NO = 2
SHOAL_COLUMN_NUMBER = 0
SHOAL_COLUMN_CATEGORY = 1
SHOAL_COLUMN_LABEL = 2
SHOAL_COLUMN_ID = 3
SHOAL_COLUMN_IGNORED = 4
SHOAL_CLICKS_AUTO = 0
SHOAL_CLICKS_LIBSVM = 1
SHOAL_CLICKS_VW = 2
SHOAL_CLICKS_CRITEO = 3
SHOAL_CLICKS_CSV = 4
SHOAL_TYPE_FLAG = 0
SHOAL_TYPE_COUNT = 1
SHOAL_TYPE_SIZE = 2
SHOAL_TYPE_REAL = 3
SHOAL_TYPE_CHOICE = 4
SHOAL_TYPE_TEXT = 5
SHOAL_TYPE_PATH = 6
SHOAL_TYPE_OWN = 7
SHOAL_TYPE_HELP = 8
SHOAL_TYPE_VERSION = 9
SHOAL_LIMIT_NONE = 0
SHOAL_LIMIT_PROCESSOR = 1
SHOAL_LIMIT_CORES = 2
SHOAL_LIMIT_THREADS = 3
SHOAL_LIMIT_DISK = 4
SHOAL_LIMIT_LINK = 5
SHOAL_LIMIT_LATENCY = 6
SHOAL_LIMIT_RANK = 7
SHOAL_LIMIT_OWNERS = 8
SHOAL_LIMIT_EXCHANGE = 9
SHOAL_LIMIT_ROUNDS = 10
SHOAL_LIMIT_ASIDE = 11
SHOAL_LIMIT_SHORT = 12
SHOAL_INFERENCE = 0
SHOAL_MANAGEMENT = 1
SHOAL_METRICS = 2
SHOAL_GRPC = 3
SHOAL_ACCESS_OFF = 0
SHOAL_ACCESS_TEXT = 1
SHOAL_ACCESS_JSON = 2
SHOAL_CLASSIFY = 0
SHOAL_REGRESS = 1
SHOAL_INPUTS = 2
SHOAL_SPIRAL = 0
SHOAL_BLOBS = 1
SHOAL_MAP_PCA = 0
SHOAL_MAP_TSNE = 1
SHOAL_MAP_UMAP = 2
SHOAL_TEXT = 0
SHOAL_COUNT = 1
SHOAL_BYTES = 2
SHOAL_REAL = 3
SHOAL_SHARE = 4
SHOAL_ROW_SUM = 1
SHOAL_ROW_HIDDEN = 2
SHOAL_NS = 0
SHOAL_HS = 1
SHOAL_SOFTMAX = 2
SHOAL_OVA = 3
SHOAL_LINEAR = 0
SHOAL_CONSTANT = 1
SHOAL_INVERSE_TIME = 2
SHOAL_COSINE = 3
SHOAL_EVERY_SECONDS = 0
SHOAL_EVERY_SHARE = 1
SHOAL_EVERY_EPOCH = 2
SHOAL_REPLICA_AUTO = 0
SHOAL_REPLICA_FULL = 1
SHOAL_REPLICA_BLOCKS = 2
SHOAL_RELU = 0
SHOAL_TANH = 1
SHOAL_SIGMOID = 2
SHOAL_GELU = 3
SHOAL_AUTO_ACTIVATION = 4
SHOAL_OF_TRAINING = 0
SHOAL_OF_VALIDATION = 1
SHOAL_OF_RUN = 2
SHOAL_EVENT_INTERVAL = 0
SHOAL_EVENT_EPOCH = 1
SHOAL_EVENT_CHECKPOINT = 2
SHOAL_EVENT_DONE = 3
SHOAL_EVENT_EVALUATION = 4
SHOAL_EVENT_RETRY = 5
SHOAL_EVENT_AGAIN = 6
SHOAL_EVENT_TRIAL = 7


class shoal_progress(Structure):
    _fields_ = [
        ("phase", c_char_p),
        ("done", c_uint64),
        ("total", c_uint64),
        ("unit", c_char_p),
        ("seconds", c_double),
    ]


class shoal_watch(Structure):
    _fields_ = [
        ("fn", CFUNCTYPE(c_bool, c_void_p, POINTER(shoal_progress))),
        ("user", c_void_p),
    ]


class shoal_memory(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("data", c_void_p),
        ("size", c_size_t),
    ]


class shoal_text_stats(Structure):
    _fields_ = [
        ("bytes", c_uint64),
        ("words", c_uint64),
        ("sentences", c_uint64),
        ("files", c_uint64),
        ("bad_bytes", c_uint64),
        ("long_words", c_uint64),
        ("unspaced", c_uint64),
    ]


class shoal_vocab_opts(Structure):
    _fields_ = [
        ("min_count", c_uint64),
        ("max_vocab", c_uint64),
        ("unk", c_bool),
        ("memory", c_uint64),
        ("tokens", c_int),
        ("bad_bytes", c_int),
        ("encoding", c_int),
        ("emoji", c_bool),
        ("threads", c_uint),
        ("tmp_dir", c_char_p),
        ("watch", shoal_watch),
    ]


class shoal_vocab_stats(Structure):
    _fields_ = [
        ("text", shoal_text_stats),
        ("types", c_uint64),
        ("size", c_uint64),
        ("kept_words", c_uint64),
        ("spilled", c_uint64),
        ("floor", c_uint64),
    ]


class shoal_phrases_opts(Structure):
    _fields_ = [
        ("vocab", shoal_vocab_opts),
        ("threshold", c_double),
        ("passes", c_uint),
        ("joiner", c_char_p),
    ]


class shoal_phrases_stats(Structure):
    _fields_ = [
        ("text", shoal_text_stats),
        ("phrases", c_uint64),
        ("joined", c_uint64),
        ("words", c_uint64),
        ("bytes", c_uint64),
        ("types", c_uint64),
        ("spilled", c_uint64),
        ("floor", c_uint64),
    ]


class shoal_encode_opts(Structure):
    _fields_ = [
        ("vocab", shoal_vocab_opts),
        ("given", c_void_p),
        ("memory_limit", c_uint64),
    ]


class shoal_encode_plan(Structure):
    _fields_ = [
        ("input_bytes", c_uint64),
        ("streamed", c_bool),
        ("buffer_bytes", c_uint64),
        ("vocab_bytes", c_uint64),
        ("memory_bytes", c_uint64),
        ("memory_free", c_uint64),
        ("disk_bytes", c_uint64),
        ("disk_free", c_uint64),
    ]


class shoal_encode_stats(Structure):
    _fields_ = [
        ("vocab", shoal_vocab_stats),
        ("ids", c_uint64),
        ("sentences", c_uint64),
        ("file_bytes", c_uint64),
        ("count_seconds", c_double),
        ("encode_seconds", c_double),
    ]


class shoal_save_opts(Structure):
    _fields_ = [
        ("format", c_int),
        ("dtype", c_int),
        ("normalize", c_bool),
        ("top", c_uint64),
    ]


class shoal_left_out(Structure):
    _fields_ = [
        ("twice", c_uint64),
        ("empty", c_uint64),
    ]


class shoal_matrix(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("rows", c_size_t),
        ("dim", c_size_t),
        ("stride", c_size_t),
        ("words", c_void_p),
    ]


class shoal_hit(Structure):
    _fields_ = [
        ("id", c_uint32),
        ("score", c_float),
    ]


class shoal_eval_opts(Structure):
    _fields_ = [
        ("top_words", c_uint64),
        ("how", c_int),
        ("keep_case", c_bool),
        ("threads", c_uint),
    ]


class shoal_score(Structure):
    _fields_ = [
        ("name", c_char * 64),
        ("seen", c_uint64),
        ("total", c_uint64),
        ("right", c_uint64),
        ("accuracy", c_double),
        ("spearman", c_double),
        ("pearson", c_double),
        ("composed", c_uint64),
    ]


class shoal_rank_stats(Structure):
    _fields_ = [
        ("ranks", c_uint),
        ("servers", c_uint),
        ("bytes_in", c_uint64),
        ("bytes_out", c_uint64),
        ("messages", c_uint64),
        ("rows_pushed", c_uint64),
        ("waited", c_double),
        ("computed", c_double),
        ("load_most", c_double),
        ("naive_bytes", c_uint64),
        ("stale", c_uint64 * 16),
    ]


class shoal_world_opts(Structure):
    _fields_ = [
        ("words", c_uint64),
        ("seed", c_uint64),
        ("watch", shoal_watch),
    ]


class shoal_world_stats(Structure):
    _fields_ = [
        ("words", c_uint64),
        ("sentences", c_uint64),
        ("bytes", c_uint64),
        ("questions", c_uint64),
        ("sections", c_uint64),
    ]


class shoal_measures(Structure):
    _fields_ = [
        ("seconds", c_double),
        ("whole", c_double),
        ("units", c_double),
        ("rate", c_double),
        ("steps", c_double),
        ("updates", c_double),
        ("loss", c_double),
        ("held", c_double),
        ("accuracy", c_double),
        ("held_accuracy", c_double),
        ("quality", c_double),
        ("target", c_double),
        ("reached", c_double),
        ("bytes", c_double),
        ("received", c_double),
        ("messages", c_double),
        ("stale", c_double),
        ("computing", c_double),
        ("communicating", c_double),
        ("waiting", c_double),
        ("other", c_double),
        ("cpu", c_double),
        ("read", c_double),
        ("written", c_double),
        ("memory", c_double),
        ("gradient", c_double),
        ("lr", c_double),
        ("done", c_bool),
        ("ranks", c_uint),
        ("unit", c_char * 16),
        ("quality_name", c_char * 32),
        ("limit", c_char * 16),
        ("verdict", c_char * 512),
    ]


class shoal_report_opts(Structure):
    _fields_ = [
        ("title", c_char_p),
        ("plots", c_char_p),
        ("refresh", c_double),
    ]


class shoal_axis(Structure):
    _fields_ = [
        ("at", c_uint64 * 32),
        ("n", c_size_t),
    ]


class shoal_study_opts(Structure):
    _fields_ = [
        ("model", c_char_p),
        ("data", POINTER(c_char_p)),
        ("ndata", c_size_t),
        ("more", POINTER(c_char_p)),
        ("nmore", c_size_t),
        ("worker", c_int),
        ("scaling", c_int),
        ("workers", shoal_axis),
        ("servers", shoal_axis),
        ("sync", c_char_p * 32),
        ("nsync", c_size_t),
        ("batch", shoal_axis),
        ("epochs", c_uint),
        ("steps", c_uint64),
        ("repeat", c_uint),
        ("target_loss", c_double),
        ("target_of", c_int),
    ]


class shoal_study_run(Structure):
    _fields_ = [
        ("number", c_size_t),
        ("repeat", c_uint),
        ("name", c_char * 96),
        ("words", POINTER(c_char_p)),
        ("nwords", c_size_t),
        ("folder", c_char_p),
        ("memory", c_double),
        ("memory_free", c_double),
    ]


class shoal_study_cell(Structure):
    _fields_ = [
        ("workers", c_uint),
        ("servers", c_uint),
        ("sync", c_char_p),
        ("batch", c_uint64),
        ("weak", c_bool),
        ("twin", c_size_t),
        ("done", c_uint),
        ("failed", c_uint),
        ("failure", c_char_p),
        ("best", shoal_measures),
        ("spread", c_double),
        ("speedup", c_double),
        ("efficiency", c_double),
    ]


class shoal_cluster(Structure):
    _fields_ = [
        ("name", c_char * 64),
        ("nodes", c_uint),
        ("cores", c_uint),
        ("bandwidth", c_double),
        ("latency", c_double),
        ("speed", c_double),
        ("jitter", c_double),
        ("workers", shoal_axis),
        ("socket", c_double),
        ("links", c_double * 32),
        ("nlinks", c_size_t),
        ("simulate", shoal_axis),
    ]


class shoal_prediction(Structure):
    _fields_ = [
        ("seconds", c_double),
        ("computing", c_double),
        ("exchanging", c_double),
        ("wire", c_double),
        ("latency", c_double),
        ("speedup", c_double),
        ("efficiency", c_double),
        ("held", c_double),
        ("quality", c_double),
        ("rate", c_double),
        ("sent", c_double),
        ("carried", c_double),
        ("waiting", c_double),
        ("stale", c_double),
        ("limit", c_char_p),
        ("by", c_char_p),
        ("failure", c_char_p),
    ]


class shoal_classic_about(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("summary", c_char_p),
        ("takes", c_char_p),
    ]


class shoal_classic_opts(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("data", c_char_p),
        ("quick", c_bool),
        ("vector", c_bool),
    ]


class shoal_labelled_opts(Structure):
    _fields_ = [
        ("label_prefix", c_char_p),
        ("text_column", c_char_p),
        ("label_column", c_char_p),
        ("clean", c_bool),
        ("min_count", c_uint64),
        ("min_count_label", c_uint64),
        ("threads", c_uint),
        ("watch", shoal_watch),
    ]


class shoal_labelled_stats(Structure):
    _fields_ = [
        ("bytes", c_uint64),
        ("lines", c_uint64),
        ("unlabelled", c_uint64),
        ("tokens", c_uint64),
        ("types", c_uint64),
        ("words", c_uint64),
        ("labels", c_uint64),
        ("long_words", c_uint64),
    ]


class shoal_guess(Structure):
    _fields_ = [
        ("label", c_uint32),
        ("p", c_float),
    ]


class shoal_classify_opts(Structure):
    _fields_ = [
        ("k", c_size_t),
        ("threshold", c_double),
        ("threads", c_uint),
    ]


class shoal_gen_news_opts(Structure):
    _fields_ = [
        ("lines", c_uint64),
        ("first", c_uint64),
        ("csv", c_bool),
        ("seed", c_uint64),
    ]


class shoal_gen_news_stats(Structure):
    _fields_ = [
        ("lines", c_uint64),
        ("wrong", c_uint64),
    ]


class shoal_table_opts(Structure):
    _fields_ = [
        ("header", c_int),
        ("label", c_char_p),
        ("numeric", c_char_p),
        ("category", c_char_p),
        ("ignore", c_char_p),
        ("missing", c_char_p),
        ("raw", c_bool),
    ]


class shoal_column_facts(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("kind", c_int),
        ("why", c_char_p),
        ("missing", c_uint64),
        ("different", c_uint64),
        ("min", c_double),
        ("max", c_double),
        ("mean", c_double),
        ("sd", c_double),
        ("values", c_size_t),
    ]


class shoal_gen_people_opts(Structure):
    _fields_ = [
        ("rows", c_uint64),
        ("first", c_uint64),
        ("seed", c_uint64),
    ]


class shoal_gen_people_stats(Structure):
    _fields_ = [
        ("rows", c_uint64),
        ("positives", c_uint64),
        ("entropy", c_double),
        ("logloss", c_double),
    ]


class shoal_clicks_opts(Structure):
    _fields_ = [
        ("format", c_int),
        ("bits", c_uint),
        ("classes", c_bool),
        ("positive", c_char_p),
        ("scale", c_bool),
        ("table", shoal_table_opts),
        ("bins", c_uint),
        ("columns", c_void_p),
        ("labels", POINTER(c_char_p)),
        ("nlabels", c_uint),
        ("plain", c_bool),
        ("examples", c_uint),
        ("skip_bad", c_uint64),
        ("memory", c_uint64),
        ("memory_limit", c_uint64),
        ("threads", c_uint),
        ("tmp_dir", c_char_p),
        ("watch", shoal_watch),
    ]


class shoal_clicks_plan(Structure):
    _fields_ = [
        ("input_bytes", c_uint64),
        ("streamed", c_bool),
        ("buffer_bytes", c_uint64),
        ("table_bytes", c_uint64),
        ("row_bytes", c_uint64),
        ("memory_bytes", c_uint64),
        ("memory_free", c_uint64),
        ("disk_bytes", c_uint64),
        ("disk_free", c_uint64),
    ]


class shoal_clicks_stats(Structure):
    _fields_ = [
        ("format", c_int),
        ("bytes", c_uint64),
        ("files", c_uint64),
        ("lines", c_uint64),
        ("rows", c_uint64),
        ("positives", c_uint64),
        ("classes", c_uint),
        ("values", c_uint64),
        ("features", c_uint64),
        ("bad_lines", c_uint64),
        ("bad", c_char * 256 * 5),
        ("large", c_char * 64),
        ("largest", c_double),
        ("usual", c_double),
        ("spilled", c_uint64),
        ("file_bytes", c_uint64),
        ("read_seconds", c_double),
        ("write_seconds", c_double),
    ]


class shoal_rows(Structure):
    _fields_ = [
        ("rows", c_uint64),
        ("columns", c_uint64),
        ("start", c_void_p),
        ("column", c_void_p),
        ("value", c_void_p),
        ("wide_places", c_bool),
        ("wide_values", c_bool),
    ]


class shoal_clicks_counts(Structure):
    _fields_ = [
        ("rows", c_uint64),
        ("positives", c_uint64),
        ("values", c_uint64),
        ("bad_lines", c_uint64),
        ("classes", c_uint),
        ("features", c_uint32),
        ("weighted", c_bool),
        ("valued", c_bool),
    ]


class shoal_gen_clicks_opts(Structure):
    _fields_ = [
        ("rows", c_uint64),
        ("first", c_uint64),
        ("seed", c_uint64),
        ("format", c_int),
        ("threads", c_uint),
        ("watch", shoal_watch),
    ]


class shoal_gen_clicks_stats(Structure):
    _fields_ = [
        ("rows", c_uint64),
        ("positives", c_uint64),
        ("values", c_uint64),
        ("bytes", c_uint64),
        ("weights", c_uint64),
        ("entropy", c_double),
        ("logloss", c_double),
    ]


class shoal_reliability(Structure):
    _fields_ = [
        ("weight", c_double),
        ("predicted", c_double),
        ("observed", c_double),
    ]


class shoal_binary_score(Structure):
    _fields_ = [
        ("examples", c_uint64),
        ("weight", c_double),
        ("log_loss", c_double),
        ("base_log_loss", c_double),
        ("accuracy", c_double),
        ("auc", c_double),
        ("auc_within", c_double),
        ("brier", c_double),
        ("base_rate", c_double),
        ("predicted", c_double),
        ("calibration", c_double),
        ("bins", shoal_reliability * 10),
    ]


class shoal_classes_score(Structure):
    _fields_ = [
        ("examples", c_uint64),
        ("classes", c_uint),
        ("top1", c_double),
        ("top5", c_double),
        ("macro_f1", c_double),
        ("weighted_f1", c_double),
    ]


class shoal_hnsw_opts(Structure):
    _fields_ = [
        ("m", c_uint),
        ("ef_construction", c_uint),
        ("ef", c_uint),
        ("recall", c_double),
        ("seed", c_uint64),
        ("threads", c_uint),
        ("watch", shoal_watch),
    ]


class shoal_hnsw_facts(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("dim", c_size_t),
        ("m", c_uint),
        ("ef_construction", c_uint),
        ("ef", c_uint),
        ("seed", c_uint64),
        ("levels", c_uint),
        ("links", c_uint64),
        ("bytes", c_uint64),
    ]


class shoal_hnsw_recall(Structure):
    _fields_ = [
        ("questions", c_size_t),
        ("recall", c_double),
        ("exact_seconds", c_double),
        ("approx_seconds", c_double),
        ("threads", c_uint),
    ]


class shoal_choice(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("help", c_char_p),
    ]


class shoal_own_type(Structure):
    _fields_ = [
        ("read", CFUNCTYPE(c_bool, c_void_p, c_char_p)),
        ("show", CFUNCTYPE(None, c_char_p, c_void_p)),
        ("want", c_char_p),
        ("words", c_char_p),
    ]


class shoal_option(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("letter", c_char),
        ("type", c_int),
        ("required", c_bool),
        ("inverse", c_bool),
        ("decides", c_bool),
        ("written", c_bool),
        ("passing", c_bool),
        ("list", c_bool),
        ("at", c_size_t),
        ("size", c_size_t),
        ("arg", c_char_p),
        ("help", c_char_p),
        ("zero", c_char_p),
        ("u_min", c_uint64),
        ("u_max", c_uint64),
        ("d_min", c_double),
        ("d_max", c_double),
        ("choices", POINTER(shoal_choice)),
        ("own", POINTER(shoal_own_type)),
    ]


class shoal_option_group(Structure):
    _fields_ = [
        ("title", c_char_p),
        ("options", POINTER(shoal_option)),
        ("at", c_size_t),
        ("unless", c_char_p),
    ]


class shoal_example(Structure):
    _fields_ = [
        ("line", c_char_p),
        ("what", c_char_p),
    ]


class shoal_task(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("summary", c_char_p),
        ("about", c_char_p),
        ("operand", c_char_p),
        ("operand_help", c_char_p),
        ("many", c_bool),
        ("groups", POINTER(shoal_option_group)),
        ("examples", POINTER(shoal_example)),
        ("unit", c_char_p),
    ]


class shoal_profile_rank(Structure):
    _fields_ = [
        ("rank", c_uint),
        ("host", c_char * 64),
        ("works", c_bool),
        ("threads", c_uint),
        ("steps", c_uint64),
        ("cores", c_uint),
        ("seconds", c_double),
        ("computing", c_double),
        ("communicating", c_double),
        ("waiting", c_double),
        ("other", c_double),
        ("thread_seconds", c_double),
        ("user", c_double),
        ("system", c_double),
        ("queued", c_double),
        ("bytes_out", c_uint64),
        ("bytes_in", c_uint64),
        ("far_out", c_uint64),
        ("far_in", c_uint64),
        ("disk_read", c_uint64),
        ("disk_written", c_uint64),
        ("faults", c_uint64),
        ("memory", c_uint64),
        ("waits", c_uint64),
        ("awaited", c_uint),
        ("awaited_seconds", c_double),
        ("held", c_double),
    ]


class shoal_profile(Structure):
    _fields_ = [
        ("sync", c_int),
        ("wide", c_bool),
        ("ranks", c_uint),
        ("hosts", c_uint),
        ("unit", c_char * 32),
        ("units", c_double),
        ("seconds", c_double),
        ("all", shoal_profile_rank),
        ("work", shoal_profile_rank),
        ("rows", shoal_profile_rank * 64),
        ("nrows", c_uint),
        ("slowest", shoal_profile_rank),
        ("busiest", shoal_profile_rank),
        ("awaited", c_uint),
        ("awaited_host", c_char * 64),
        ("awaited_seconds", c_double),
        ("crowd_name", c_char * 64),
        ("crowd_threads", c_uint),
        ("crowd_cores", c_uint),
        ("crowd_cpu", c_double),
        ("link_name", c_char * 64),
        ("link_carried", c_double),
        ("link_can", c_double),
        ("latency", c_double),
        ("limit", c_int),
        ("verdict", c_char * 512),
    ]


class shoal_serve_opts(Structure):
    _fields_ = [
        ("inference", c_char_p),
        ("management", c_char_p),
        ("metrics", c_char_p),
        ("grpc", c_char_p),
        ("models", POINTER(c_char_p)),
        ("nmodels", c_size_t),
        ("model_store", c_char_p),
        ("load_all", c_bool),
        ("models_dir", c_char_p),
        ("state", c_char_p),
        ("class_index", c_char_p),
        ("mmap", c_bool),
        ("index", c_bool),
        ("token_file", c_char_p),
        ("no_tokens", c_bool),
        ("tls_cert", c_char_p),
        ("tls_key", c_char_p),
        ("user", c_char_p),
        ("sandbox", c_bool),
        ("threads", c_uint),
        ("workers", c_uint),
        ("batch_size", c_uint),
        ("max_batch_delay", c_uint),
        ("queue_size", c_uint),
        ("response_timeout", c_uint),
        ("limits", c_char_p),
        ("max_body", c_uint64),
        ("max_header", c_uint64),
        ("max_connections", c_uint),
        ("max_per_client", c_uint),
        ("rate", c_double),
        ("timeout", c_double),
        ("drain_delay", c_double),
        ("drain", c_double),
        ("reload_every", c_double),
        ("access", c_int),
        ("log_sample", c_double),
        ("log_client", c_bool),
        ("log_file", c_char_p),
        ("log_line", CFUNCTYPE(None, c_void_p, c_char_p)),
        ("log", CFUNCTYPE(None, c_void_p, c_char_p)),
        ("user_data", c_void_p),
    ]


class shoal_weight(Structure):
    _fields_ = [
        ("slot", c_uint32),
        ("weight", c_float),
        ("name", c_char_p),
    ]


class shoal_samples_opts(Structure):
    _fields_ = [
        ("task", c_int),
        ("table", shoal_table_opts),
        ("targets", c_uint32),
        ("labels", c_char_p),
        ("expect", c_uint32),
        ("columns", c_void_p),
        ("numbers", c_bool),
        ("classes", POINTER(c_char_p)),
        ("nclasses", c_size_t),
        ("memory_limit", c_uint64),
    ]


class shoal_shapes_opts(Structure):
    _fields_ = [
        ("shape", c_int),
        ("samples", c_uint64),
        ("classes", c_uint),
        ("noise", c_double),
        ("seed", c_uint64),
    ]


class shoal_images_opts(Structure):
    _fields_ = [
        ("test", c_bool),
        ("size", c_uint),
        ("keep", c_uint64),
        ("threads", c_uint),
    ]


class shoal_pictures_opts(Structure):
    _fields_ = [
        ("train", c_uint64),
        ("test", c_uint64),
        ("noise", c_double),
        ("seed", c_uint64),
    ]


class shoal_map_opts(Structure):
    _fields_ = [
        ("words", c_uint64),
        ("method", c_int),
        ("perplexity", c_double),
        ("neighbors", c_uint64),
        ("min_distance", c_double),
        ("rounds", c_uint64),
        ("clusters", c_uint64),
        ("seed", c_uint64),
        ("threads", c_uint),
        ("watch", shoal_watch),
    ]


class shoal_map_layout(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("places", c_void_p),
        ("trust", c_double),
        ("kept", c_double),
        ("loss", c_double),
    ]


class shoal_words(Structure):
    _fields_ = [
        ("text", c_char_p),
        ("len", c_size_t),
        ("n", c_size_t),
        ("counts", c_void_p),
    ]


class shoal_subwords(Structure):
    _fields_ = [
        ("minn", c_uint),
        ("maxn", c_uint),
        ("buckets", c_uint32),
        ("hashes", c_uint),
    ]


class shoal_compress_opts(Structure):
    _fields_ = [
        ("dsub", c_uint),
        ("qnorm", c_bool),
        ("cutoff", c_uint64),
        ("seed", c_uint64),
        ("threads", c_uint),
    ]


class shoal_import_opts(Structure):
    _fields_ = [
        ("size", c_uint),
        ("activation", c_char_p),
    ]


class shoal_value(Structure):
    _fields_ = [
        ("type", c_int),
        ("text", c_char_p),
        ("count", c_uint64),
        ("real", c_double),
    ]


class shoal_fact(Structure):
    _fields_ = [
        ("key", c_char_p),
        ("label", c_char_p),
        ("value", shoal_value),
        ("note", c_char_p),
        ("with_", shoal_value * 2),
    ]


class shoal_column(Structure):
    _fields_ = [
        ("key", c_char_p),
        ("label", c_char_p),
        ("width", c_int),
    ]


class shoal_grid(Structure):
    _fields_ = [
        ("key", c_char_p),
        ("columns", POINTER(shoal_column)),
        ("n", c_size_t),
    ]


class shoal_reporter(Structure):
    _fields_ = [
        ("list", CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)),
        ("begin", CFUNCTYPE(None, c_void_p, c_char_p)),
        ("fact", CFUNCTYPE(None, c_void_p, POINTER(shoal_fact))),
        ("row", CFUNCTYPE(None, c_void_p, POINTER(shoal_grid), POINTER(shoal_value), c_uint)),
        ("warn", CFUNCTYPE(None, c_void_p, POINTER(shoal_fact))),
        ("user", c_void_p),
    ]


class shoal_ask_opts(Structure):
    _fields_ = [
        ("rows", shoal_clicks_opts),
        ("samples", shoal_samples_opts),
        ("words", shoal_eval_opts),
        ("top", c_uint64),
        ("generate", c_uint64),
        ("temperature", c_double),
        ("seed", c_uint64),
        ("vector", c_bool),
        ("nearest", c_uint64),
        ("threshold", c_double),
    ]


class shoal_figure(Structure):
    _fields_ = [
        ("name", c_char * 48),
        ("of", c_int),
        ("share", c_bool),
        ("value", c_double),
    ]


class shoal_figures(Structure):
    _fields_ = [
        ("at", shoal_figure * 48),
        ("n", c_size_t),
    ]


class shoal_report(Structure):
    _fields_ = [
        ("event", c_int),
        ("unit", c_char_p),
        ("epoch", c_uint),
        ("epochs", c_uint),
        ("progress", c_double),
        ("examples", c_uint64),
        ("steps", c_uint64),
        ("seconds", c_double),
        ("rate", c_double),
        ("lr", c_double),
        ("eta", c_double),
        ("memory", c_uint64),
        ("figures", shoal_figures),
        ("note", c_char * 160),
    ]


class shoal_sources(Structure):
    _fields_ = [
        ("corpus", c_void_p),
        ("vectors", c_void_p),
        ("rows", c_void_p),
        ("valid_rows", c_void_p),
        ("samples", c_void_p),
        ("valid_samples", c_void_p),
        ("images", c_void_p),
        ("test_images", c_void_p),
        ("labelled", c_void_p),
        ("valid_labelled", c_void_p),
    ]


class shoal_found(Structure):
    _fields_ = [
        ("text", POINTER(shoal_vocab_stats)),
        ("unk", c_bool),
        ("rows", POINTER(shoal_clicks_stats)),
        ("valid_rows", POINTER(shoal_clicks_stats)),
        ("columns", c_void_p),
        ("samples", c_void_p),
        ("images", c_void_p),
        ("labelled", POINTER(shoal_labelled_stats)),
    ]


class shoal_train_plan(Structure):
    _fields_ = [
        ("examples", c_uint64),
        ("held_out", c_uint64),
        ("epochs", c_uint),
        ("early_stop", c_uint),
        ("chosen", c_bool),
        ("parameters", c_uint64),
        ("types", c_uint64),
        ("types_note", c_char * 16),
        ("lr", c_double),
        ("lr_scale", c_double),
        ("shape", c_uint64 * 2),
        ("model_bytes", c_uint64),
        ("rank_bytes", c_uint64),
        ("blocks", c_bool),
        ("replica_bytes", c_uint64),
        ("work_bytes", c_uint64),
        ("held_bytes", c_uint64),
        ("checkpoint_bytes", c_uint64),
        ("memory_bytes", c_uint64),
        ("memory_free", c_uint64),
        ("memory_limited", c_bool),
        ("model_note", c_char * 96),
        ("advice", c_char_p),
    ]


class shoal_train_stats(Structure):
    _fields_ = [
        ("unit", c_char_p),
        ("examples", c_uint64),
        ("steps", c_uint64),
        ("seconds", c_double),
        ("startup", c_double),
        ("figures", shoal_figures),
        ("memory", c_uint64),
        ("kernel", c_char_p),
        ("checkpoints", c_uint),
        ("resumed", c_bool),
        ("enough", c_bool),
        ("best_epoch", c_uint),
        ("epochs", c_uint),
        ("again", c_uint64),
        ("again_epochs", c_uint),
        ("lr", c_double),
        ("doubt", c_char * 512),
        ("ranks", shoal_rank_stats),
        ("profile", shoal_profile),
    ]


class shoal_train_how(Structure):
    _fields_ = [
        ("ranks", c_void_p),
        ("report", CFUNCTYPE(c_bool, c_void_p, POINTER(shoal_report))),
        ("user", c_void_p),
        ("lenient", c_bool),
    ]


class shoal_checkpoint(Structure):
    _fields_ = [
        ("path", c_char * 4096),
        ("task", c_char * 32),
        ("epoch", c_uint),
        ("progress", c_double),
        ("examples", c_uint64),
        ("seconds", c_double),
    ]


# name: (result, arguments)
functions = {
    "shoal_error": (c_char_p, []),
    "shoal_status_name": (c_char_p, [c_int]),
    "shoal_version": (c_char_p, []),
    "shoal_version_num": (c_uint, []),
    "shoal_free": (None, [c_void_p]),
    "shoal_vocab_default": (shoal_vocab_opts, []),
    "shoal_vocab_check": (c_int, [POINTER(shoal_vocab_opts)]),
    "shoal_vocab_build": (c_int, [c_void_p, POINTER(c_char_p), c_size_t, POINTER(shoal_vocab_opts), POINTER(shoal_vocab_stats)]),
    "shoal_vocab_build_memory": (c_int, [c_void_p, POINTER(shoal_memory), c_size_t, POINTER(shoal_vocab_opts), POINTER(shoal_vocab_stats)]),
    "shoal_vocab_read": (c_int, [c_void_p, c_char_p]),
    "shoal_vocab_read_memory": (c_int, [c_void_p, POINTER(shoal_memory)]),
    "shoal_vocab_recognise": (c_bool, [c_char_p]),
    "shoal_vocab_write": (c_int, [c_void_p, c_char_p, c_bool]),
    "shoal_vocab_free": (None, [c_void_p]),
    "shoal_vocab_size": (c_size_t, [c_void_p]),
    "shoal_vocab_word": (c_char_p, [c_void_p, c_uint32]),
    "shoal_vocab_count": (c_uint64, [c_void_p, c_uint32]),
    "shoal_vocab_find": (c_uint32, [c_void_p, c_char_p, c_size_t]),
    "shoal_vocab_unk": (c_uint32, [c_void_p]),
    "shoal_vocab_total": (c_uint64, [c_void_p]),
    "shoal_vocab_sentences": (c_uint64, [c_void_p]),
    "shoal_vocab_tokens": (c_int, [c_void_p]),
    "shoal_phrases_default": (shoal_phrases_opts, []),
    "shoal_phrases_check": (c_int, [POINTER(shoal_phrases_opts)]),
    "shoal_phrases": (c_int, [c_char_p, POINTER(c_char_p), c_size_t, POINTER(shoal_phrases_opts), POINTER(shoal_phrases_stats)]),
    "shoal_encode_default": (shoal_encode_opts, []),
    "shoal_encode_plan": (c_int, [POINTER(shoal_encode_plan), c_char_p, POINTER(c_char_p), c_size_t, POINTER(shoal_encode_opts)]),
    "shoal_encode": (c_int, [c_char_p, POINTER(c_char_p), c_size_t, POINTER(shoal_encode_opts), POINTER(shoal_encode_stats)]),
    "shoal_encode_memory": (c_int, [c_char_p, POINTER(shoal_memory), c_size_t, POINTER(shoal_encode_opts), POINTER(shoal_encode_stats)]),
    "shoal_corpus_open": (c_int, [c_void_p, c_char_p]),
    "shoal_corpus_open_memory": (c_int, [c_void_p, POINTER(shoal_memory)]),
    "shoal_corpus_close": (None, [c_void_p]),
    "shoal_corpus_vocab": (c_void_p, [c_void_p]),
    "shoal_corpus_words": (c_uint64, [c_void_p]),
    "shoal_corpus_sentences": (c_uint64, [c_void_p]),
    "shoal_corpus_fingerprint": (c_uint64, [c_void_p]),
    "shoal_corpus_part": (c_int, [c_void_p, c_size_t, c_size_t, c_void_p, c_void_p]),
    "shoal_kind": (c_bool, [c_char_p, c_char_p]),
    "shoal_output_open": (c_int, [c_void_p, c_char_p]),
    "shoal_output_write": (c_int, [c_void_p, c_void_p, c_size_t]),
    "shoal_output_end": (c_int, [c_void_p, c_int]),
    "shoal_format_name": (c_char_p, [c_int]),
    "shoal_save_default": (shoal_save_opts, []),
    "shoal_save_check": (c_int, [c_char_p, POINTER(shoal_save_opts), c_void_p]),
    "shoal_vectors_open": (c_int, [c_void_p, c_char_p]),
    "shoal_vectors_map": (c_int, [c_void_p, c_char_p]),
    "shoal_vectors_verify": (c_int, [c_void_p]),
    "shoal_vectors_left_out": (shoal_left_out, [c_void_p]),
    "shoal_vectors_strict": (c_int, [c_void_p]),
    "shoal_vectors_save": (c_int, [c_void_p, c_char_p, POINTER(shoal_save_opts)]),
    "shoal_vectors_close": (None, [c_void_p]),
    "shoal_vectors_size": (c_size_t, [c_void_p]),
    "shoal_vectors_dim": (c_size_t, [c_void_p]),
    "shoal_vectors_dtype": (c_int, [c_void_p]),
    "shoal_vectors_format": (c_int, [c_void_p]),
    "shoal_vectors_word": (c_char_p, [c_void_p, c_uint32]),
    "shoal_vectors_count": (c_uint64, [c_void_p, c_uint32]),
    "shoal_vectors_find": (c_uint32, [c_void_p, c_char_p, c_size_t]),
    "shoal_vectors_row": (c_int, [c_void_p, c_uint32, c_void_p]),
    "shoal_vectors_matrix": (c_int, [c_void_p, POINTER(shoal_matrix)]),
    "shoal_nearest": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_uint, POINTER(shoal_hit), c_size_t, c_void_p]),
    "shoal_analogy": (c_int, [c_void_p, c_uint32, c_uint32, c_uint32, c_int, c_uint, POINTER(shoal_hit), c_size_t, c_void_p]),
    "shoal_cosine": (c_int, [c_void_p, c_uint32, c_uint32, c_void_p]),
    "shoal_odd": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "shoal_spellings": (c_int, [c_void_p, c_char_p, c_void_p, c_size_t, c_void_p]),
    "shoal_eval_default": (shoal_eval_opts, []),
    "shoal_eval_check": (c_int, [POINTER(shoal_eval_opts)]),
    "shoal_eval_open": (c_int, [c_void_p, c_char_p]),
    "shoal_eval_open_memory": (c_int, [c_void_p, POINTER(shoal_memory)]),
    "shoal_eval_kind": (c_int, [c_void_p]),
    "shoal_eval_name": (c_char_p, [c_void_p]),
    "shoal_eval_run": (c_int, [c_void_p, c_void_p, POINTER(shoal_eval_opts), c_void_p, c_void_p]),
    "shoal_scores_free": (None, [POINTER(shoal_score)]),
    "shoal_eval_close": (None, [c_void_p]),
    "shoal_ranks_join": (c_int, [c_void_p]),
    "shoal_ranks_leave": (None, [c_void_p, c_int]),
    "shoal_ranks_rank": (c_uint, [c_void_p]),
    "shoal_ranks_size": (c_uint, [c_void_p]),
    "shoal_ranks_agree": (c_int, [c_void_p, c_int]),
    "shoal_ranks_share": (c_int, [c_void_p, c_void_p, c_size_t]),
    "shoal_world_default": (shoal_world_opts, []),
    "shoal_world_write": (c_int, [c_char_p, c_char_p, POINTER(shoal_world_opts), POINTER(shoal_world_stats)]),
    "shoal_run_read": (c_int, [c_void_p, c_char_p]),
    "shoal_run_update": (c_int, [c_void_p]),
    "shoal_run_free": (None, [c_void_p]),
    "shoal_run_measures": (shoal_measures, [c_void_p, c_double]),
    "shoal_report_default": (shoal_report_opts, []),
    "shoal_report_write": (c_int, [c_char_p, c_void_p, c_size_t, POINTER(shoal_report_opts)]),
    "shoal_report_text": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, POINTER(shoal_report_opts)]),
    "shoal_study_default": (shoal_study_opts, []),
    "shoal_study_check": (c_int, [POINTER(shoal_study_opts)]),
    "shoal_study_open": (c_int, [c_void_p, c_char_p, POINTER(shoal_study_opts)]),
    "shoal_study_close": (None, [c_void_p]),
    "shoal_study_runs": (c_size_t, [c_void_p]),
    "shoal_study_finished": (c_size_t, [c_void_p]),
    "shoal_study_next": (c_bool, [c_void_p, POINTER(shoal_study_run), c_void_p]),
    "shoal_study_ended": (c_int, [c_void_p, c_size_t, c_double, c_char_p]),
    "shoal_study_name": (None, [c_void_p, c_size_t, c_char_p]),
    "shoal_study_cell": (c_bool, [c_void_p, c_size_t, POINTER(shoal_study_cell)]),
    "shoal_study_table": (c_int, [c_void_p, c_void_p, c_size_t]),
    "shoal_cluster_read": (c_int, [POINTER(shoal_cluster), c_char_p]),
    "shoal_study_simulations": (c_size_t, [c_void_p, POINTER(shoal_cluster)]),
    "shoal_study_simulate": (c_int, [c_void_p, POINTER(shoal_cluster), c_size_t, c_char_p, POINTER(shoal_study_run)]),
    "shoal_study_simulated": (c_int, [c_void_p, POINTER(shoal_cluster), c_size_t, c_char_p]),
    "shoal_study_predict": (c_bool, [c_void_p, c_size_t, POINTER(shoal_cluster), c_uint, POINTER(shoal_prediction)]),
    "shoal_study_predictions": (c_int, [c_void_p, c_void_p, POINTER(shoal_cluster)]),
    "shoal_study_report": (c_int, [c_void_p, c_char_p, POINTER(shoal_cluster)]),
    "shoal_classic_at": (c_bool, [c_size_t, POINTER(shoal_classic_about)]),
    "shoal_classic_open": (c_int, [c_void_p, c_char_p, POINTER(shoal_classic_opts)]),
    "shoal_classic_close": (None, [c_void_p]),
    "shoal_classic_runs": (c_size_t, [c_void_p]),
    "shoal_classic_finished": (c_size_t, [c_void_p]),
    "shoal_classic_next": (c_bool, [c_void_p, POINTER(shoal_study_run), c_void_p]),
    "shoal_classic_ended": (c_int, [c_void_p, c_size_t, c_double, c_char_p]),
    "shoal_classic_progress": (None, [c_char_p, c_void_p, c_size_t]),
    "shoal_classic_line": (None, [c_char_p, c_void_p, c_size_t]),
    "shoal_classic_text": (c_int, [c_void_p, c_void_p]),
    "shoal_classic_report": (c_int, [c_void_p]),
    "shoal_classic_check": (c_int, [c_void_p]),
    "shoal_labelled_default": (shoal_labelled_opts, []),
    "shoal_labelled_read": (c_int, [c_void_p, POINTER(c_char_p), c_size_t, POINTER(shoal_labelled_opts), POINTER(shoal_labelled_stats)]),
    "shoal_labelled_read_memory": (c_int, [c_void_p, POINTER(shoal_memory), c_size_t, POINTER(shoal_labelled_opts), POINTER(shoal_labelled_stats)]),
    "shoal_labelled_open": (c_int, [c_void_p, c_char_p]),
    "shoal_labelled_close": (None, [c_void_p]),
    "shoal_labelled_lines": (c_size_t, [c_void_p]),
    "shoal_classifier_labels": (c_size_t, [c_void_p]),
    "shoal_classifier_label": (c_char_p, [c_void_p, c_size_t]),
    "shoal_classifier_dim": (c_size_t, [c_void_p]),
    "shoal_classifier_text": (c_int, [c_void_p, c_char_p, c_size_t, c_void_p, c_void_p]),
    "shoal_classify": (c_int, [c_void_p, POINTER(shoal_memory), c_size_t, POINTER(shoal_classify_opts), POINTER(shoal_guess), c_void_p]),
    "shoal_gen_news_default": (shoal_gen_news_opts, []),
    "shoal_gen_news": (c_int, [c_char_p, POINTER(shoal_gen_news_opts), POINTER(shoal_gen_news_stats)]),
    "shoal_columns_open": (c_int, [c_void_p, c_char_p]),
    "shoal_columns_free": (None, [c_void_p]),
    "shoal_columns_count": (c_size_t, [c_void_p]),
    "shoal_columns_facts": (shoal_column_facts, [c_void_p, c_size_t]),
    "shoal_columns_value": (c_char_p, [c_void_p, c_size_t, c_size_t, c_void_p]),
    "shoal_columns_rows": (c_uint64, [c_void_p, c_void_p]),
    "shoal_columns_delimiter": (c_char, [c_void_p, c_void_p]),
    "shoal_column_kind_name": (c_char_p, [c_int]),
    "shoal_gen_people_default": (shoal_gen_people_opts, []),
    "shoal_gen_people": (c_int, [c_char_p, POINTER(shoal_gen_people_opts), POINTER(shoal_gen_people_stats)]),
    "shoal_clicks_default": (shoal_clicks_opts, []),
    "shoal_clicks_check": (c_int, [POINTER(shoal_clicks_opts)]),
    "shoal_clicks_format_name": (c_char_p, [c_int]),
    "shoal_clicks_plan": (c_int, [POINTER(shoal_clicks_plan), c_char_p, POINTER(c_char_p), c_size_t, POINTER(shoal_clicks_opts)]),
    "shoal_clicks_encode": (c_int, [c_char_p, POINTER(c_char_p), c_size_t, POINTER(shoal_clicks_opts), POINTER(shoal_clicks_stats)]),
    "shoal_clicks_open": (c_int, [c_void_p, c_char_p]),
    "shoal_clicks_open_memory": (c_int, [c_void_p, POINTER(shoal_memory)]),
    "shoal_clicks_read": (c_int, [c_void_p, POINTER(c_char_p), c_size_t, POINTER(shoal_clicks_opts), POINTER(shoal_clicks_stats)]),
    "shoal_clicks_read_memory": (c_int, [c_void_p, POINTER(shoal_memory), c_size_t, POINTER(shoal_clicks_opts), POINTER(shoal_clicks_stats)]),
    "shoal_clicks_new": (c_int, [c_void_p, POINTER(shoal_rows), c_void_p, c_void_p, POINTER(shoal_clicks_opts)]),
    "shoal_clicks_close": (None, [c_void_p]),
    "shoal_clicks_counts": (shoal_clicks_counts, [c_void_p]),
    "shoal_clicks_fingerprint": (c_uint64, [c_void_p]),
    "shoal_clicks_count": (c_uint64, [c_void_p, c_uint32, c_void_p]),
    "shoal_clicks_name": (c_char_p, [c_void_p, c_uint32]),
    "shoal_clicks_label": (c_char_p, [c_void_p, c_uint]),
    "shoal_clicks_columns": (c_void_p, [c_void_p]),
    "shoal_clicks_like": (shoal_clicks_opts, [c_void_p]),
    "shoal_gen_clicks_default": (shoal_gen_clicks_opts, []),
    "shoal_gen_clicks": (c_int, [c_char_p, POINTER(shoal_gen_clicks_opts), POINTER(shoal_gen_clicks_stats)]),
    "shoal_hnsw_there": (c_int, []),
    "shoal_hnsw_default": (shoal_hnsw_opts, []),
    "shoal_hnsw_new": (c_int, [c_void_p, c_void_p, POINTER(shoal_hnsw_opts)]),
    "shoal_hnsw_new_rows": (c_int, [c_void_p, POINTER(shoal_matrix), POINTER(shoal_hnsw_opts)]),
    "shoal_hnsw_save": (c_int, [c_void_p, c_char_p]),
    "shoal_hnsw_open": (c_int, [c_void_p, c_void_p, c_char_p]),
    "shoal_hnsw_open_rows": (c_int, [c_void_p, POINTER(shoal_matrix), c_char_p]),
    "shoal_hnsw_free": (None, [c_void_p]),
    "shoal_hnsw_facts": (shoal_hnsw_facts, [c_void_p]),
    "shoal_hnsw_nearest": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, POINTER(shoal_hit), c_size_t, c_void_p]),
    "shoal_hnsw_nearest_words": (c_int, [c_void_p, c_void_p, POINTER(c_char_p), c_size_t, c_void_p, c_size_t, POINTER(shoal_hit), c_size_t, c_void_p]),
    "shoal_hnsw_analogy_words": (c_int, [c_void_p, c_void_p, POINTER(c_char_p), c_void_p, c_size_t, POINTER(shoal_hit), c_size_t, c_void_p]),
    "shoal_hnsw_measure": (c_int, [c_void_p, c_void_p, c_size_t, c_size_t, c_uint, POINTER(shoal_hnsw_recall)]),
    "shoal_option_takes_value": (c_bool, [POINTER(shoal_option)]),
    "shoal_option_read": (c_bool, [POINTER(shoal_option), c_void_p, c_char_p]),
    "shoal_option_show": (c_bool, [c_char_p, POINTER(shoal_option), c_void_p]),
    "shoal_option_want": (None, [c_char_p, POINTER(shoal_option)]),
    "shoal_option_facts": (None, [c_char_p, POINTER(shoal_option), c_void_p]),
    "shoal_task_at": (POINTER(shoal_task), [c_size_t]),
    "shoal_task_find": (POINTER(shoal_task), [c_char_p]),
    "shoal_options_new": (c_int, [c_void_p, c_char_p]),
    "shoal_options_resume": (c_int, [c_void_p, c_char_p]),
    "shoal_options_free": (None, [c_void_p]),
    "shoal_options_set": (c_int, [c_void_p, c_char_p, c_char_p]),
    "shoal_options_read": (c_int, [c_void_p, c_char_p]),
    "shoal_options_get": (c_char_p, [c_void_p, c_char_p]),
    "shoal_options_given": (c_bool, [c_void_p, c_char_p]),
    "shoal_options_task": (POINTER(shoal_task), [c_void_p]),
    "shoal_options_check": (c_int, [c_void_p]),
    "shoal_limit_name": (c_char_p, [c_int]),
    "shoal_serve_default": (shoal_serve_opts, []),
    "shoal_serve_check": (c_int, [POINTER(shoal_serve_opts)]),
    "shoal_serve_config": (c_int, [POINTER(shoal_serve_opts), c_char_p, c_void_p]),
    "shoal_serve_start": (c_int, [c_void_p, POINTER(shoal_serve_opts)]),
    "shoal_serve_address": (c_char_p, [c_void_p, c_int]),
    "shoal_serve_models": (c_size_t, [c_void_p]),
    "shoal_serve_reopen": (None, [c_void_p]),
    "shoal_serve_stop": (None, [c_void_p]),
    "shoal_show_open": (c_int, [c_void_p, c_char_p, CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p), c_void_p]),
    "shoal_show_url": (c_char_p, [c_void_p]),
    "shoal_show_close": (None, [c_void_p]),
    "shoal_logreg_reading": (shoal_clicks_opts, [c_void_p]),
    "shoal_logreg_largest": (c_int, [c_void_p, POINTER(shoal_weight), c_size_t, c_void_p]),
    "shoal_logreg_one": (c_double, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "shoal_samples_default": (shoal_samples_opts, []),
    "shoal_samples_open": (c_int, [c_void_p, c_char_p, POINTER(shoal_samples_opts)]),
    "shoal_samples_open_memory": (c_int, [c_void_p, POINTER(shoal_memory), POINTER(shoal_memory), POINTER(shoal_samples_opts)]),
    "shoal_samples_new": (c_int, [c_void_p, c_void_p, c_size_t, c_size_t, c_void_p, c_void_p, c_size_t]),
    "shoal_samples_name_classes": (c_int, [c_void_p, POINTER(c_char_p), c_size_t]),
    "shoal_samples_close": (None, [c_void_p]),
    "shoal_samples_count": (c_size_t, [c_void_p]),
    "shoal_samples_classes": (c_size_t, [c_void_p]),
    "shoal_samples_class": (c_char_p, [c_void_p, c_size_t]),
    "shoal_samples_columns": (c_void_p, [c_void_p]),
    "shoal_shapes_default": (shoal_shapes_opts, [c_int]),
    "shoal_shapes_write": (c_int, [c_char_p, POINTER(shoal_shapes_opts)]),
    "shoal_net_open": (c_int, [c_void_p, c_char_p]),
    "shoal_net_save": (c_int, [c_void_p, c_char_p]),
    "shoal_net_close": (None, [c_void_p]),
    "shoal_net_fact": (c_char_p, [c_void_p, c_char_p]),
    "shoal_net_spec": (c_char_p, [c_void_p]),
    "shoal_net_inputs": (c_size_t, [c_void_p]),
    "shoal_net_outputs": (c_size_t, [c_void_p]),
    "shoal_net_classes": (c_bool, [c_void_p]),
    "shoal_net_parameters": (c_uint64, [c_void_p]),
    "shoal_net_predict": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "shoal_net_predict_samples": (c_int, [c_void_p, c_void_p, c_size_t, c_size_t, c_void_p]),
    "shoal_nextword_predict": (c_int, [c_void_p, c_char_p, POINTER(shoal_hit), c_size_t, c_void_p]),
    "shoal_nextword_vector": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(shoal_hit), c_size_t, c_void_p]),
    "shoal_nextword_word": (c_char_p, [c_void_p, c_uint32]),
    "shoal_images_default": (shoal_images_opts, []),
    "shoal_images_open": (c_int, [c_void_p, c_char_p, POINTER(shoal_images_opts)]),
    "shoal_images_close": (None, [c_void_p]),
    "shoal_images_has_test": (c_bool, [c_char_p]),
    "shoal_images_classes": (c_size_t, [c_void_p]),
    "shoal_images_shape": (None, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "shoal_pictures_default": (shoal_pictures_opts, []),
    "shoal_pictures_write": (c_int, [c_char_p, POINTER(shoal_pictures_opts)]),
    "shoal_net_pictures": (c_bool, [c_void_p, c_void_p, c_void_p, c_void_p]),
    "shoal_net_class": (None, [c_void_p, c_size_t, c_char_p, c_size_t]),
    "shoal_net_predict_pictures": (c_int, [c_void_p, POINTER(c_char_p), c_size_t, c_void_p, c_void_p]),
    "shoal_net_weights": (c_bool, [c_char_p]),
    "shoal_net_export": (c_int, [c_void_p, c_char_p]),
    "shoal_net_import": (c_int, [c_void_p, c_char_p, c_uint]),
    "shoal_map_default": (shoal_map_opts, []),
    "shoal_map_check": (c_int, [POINTER(shoal_map_opts)]),
    "shoal_map_make": (c_int, [c_void_p, c_void_p, POINTER(shoal_map_opts)]),
    "shoal_map_free": (None, [c_void_p]),
    "shoal_map_size": (c_size_t, [c_void_p]),
    "shoal_map_id": (c_uint32, [c_void_p, c_size_t]),
    "shoal_map_layouts": (c_size_t, [c_void_p]),
    "shoal_map_layout": (shoal_map_layout, [c_void_p, c_size_t]),
    "shoal_map_clusters": (c_size_t, [c_void_p]),
    "shoal_map_cluster": (c_size_t, [c_void_p, c_size_t]),
    "shoal_map_cluster_name": (c_char_p, [c_void_p, c_size_t, c_size_t]),
    "shoal_map_near": (shoal_hit, [c_void_p, c_size_t, c_size_t]),
    "shoal_map_write": (c_int, [c_void_p, c_char_p, c_char_p]),
    "shoal_map_write_tsv": (c_int, [c_void_p, c_char_p]),
    "shoal_vocab_new": (c_int, [c_void_p, POINTER(shoal_words)]),
    "shoal_vocab_words": (shoal_words, [c_void_p]),
    "shoal_corpus_new": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t]),
    "shoal_vectors_new": (c_int, [c_void_p, POINTER(shoal_matrix), POINTER(shoal_matrix)]),
    "shoal_vectors_hidden": (shoal_matrix, [c_void_p]),
    "shoal_vectors_vocab": (c_void_p, [c_void_p]),
    "shoal_vectors_subwords": (shoal_subwords, [c_void_p]),
    "shoal_vectors_compose": (c_int, [c_void_p, c_char_p, c_size_t, c_void_p, c_void_p]),
    "shoal_subwords_list": (c_size_t, [POINTER(shoal_subwords), c_char_p, c_size_t, c_void_p, c_size_t]),
    "shoal_vectors_new_subwords": (c_int, [c_void_p, POINTER(shoal_matrix), POINTER(shoal_matrix), POINTER(shoal_subwords), POINTER(shoal_matrix)]),
    "shoal_vectors_grams": (shoal_matrix, [c_void_p]),
    "shoal_vectors_gram_rows": (c_int, [c_void_p, c_uint32, c_uint32, c_void_p]),
    "shoal_vectors_text": (c_int, [c_void_p, c_char_p, c_size_t, c_void_p, c_void_p, c_void_p]),
    "shoal_nearest_words": (c_int, [c_void_p, POINTER(c_char_p), c_size_t, c_void_p, c_uint, POINTER(shoal_hit), c_size_t, c_void_p]),
    "shoal_analogy_words": (c_int, [c_void_p, POINTER(c_char_p), c_void_p, c_int, c_uint, POINTER(shoal_hit), c_size_t, c_void_p]),
    "shoal_cosine_words": (c_int, [c_void_p, POINTER(c_char_p), c_void_p, c_void_p]),
    "shoal_odd_words": (c_int, [c_void_p, POINTER(c_char_p), c_size_t, c_void_p, c_void_p]),
    "shoal_compress_default": (shoal_compress_opts, []),
    "shoal_vectors_compress": (c_int, [c_void_p, c_void_p, POINTER(shoal_compress_opts)]),
    "shoal_index_new": (c_int, [c_void_p, POINTER(shoal_matrix), c_uint]),
    "shoal_index_free": (None, [c_void_p]),
    "shoal_index_nearest": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_size_t, c_uint, POINTER(shoal_hit), c_size_t, c_void_p]),
    "shoal_model_open": (c_int, [c_void_p, c_char_p]),
    "shoal_model_map": (c_int, [c_void_p, c_char_p]),
    "shoal_model_open_memory": (c_int, [c_void_p, c_char_p, c_void_p, c_size_t]),
    "shoal_model_import": (c_int, [c_void_p, c_char_p, c_uint]),
    "shoal_model_import_as": (c_int, [c_void_p, c_char_p, POINTER(shoal_import_opts)]),
    "shoal_model_verify": (c_int, [c_void_p]),
    "shoal_model_save": (c_int, [c_void_p, c_char_p, POINTER(shoal_save_opts)]),
    "shoal_model_close": (None, [c_void_p]),
    "shoal_model_compress": (c_int, [c_void_p, c_void_p, POINTER(shoal_compress_opts)]),
    "shoal_model_name_classes": (c_int, [c_void_p, c_char_p]),
    "shoal_model_kind": (c_char_p, [c_void_p]),
    "shoal_model_vectors": (c_void_p, [c_void_p]),
    "shoal_model_linear": (c_void_p, [c_void_p]),
    "shoal_model_net": (c_void_p, [c_void_p]),
    "shoal_model_classifier": (c_void_p, [c_void_p]),
    "shoal_model_describe": (c_int, [c_void_p, c_uint64, POINTER(shoal_reporter)]),
    "shoal_ask_default": (shoal_ask_opts, []),
    "shoal_model_predicts": (c_bool, [c_char_p]),
    "shoal_model_predict": (c_int, [c_void_p, POINTER(c_char_p), c_size_t, POINTER(shoal_ask_opts), CFUNCTYPE(c_bool, c_void_p, c_void_p, c_size_t), c_void_p, POINTER(shoal_clicks_stats)]),
    "shoal_model_eval": (c_int, [c_void_p, POINTER(c_char_p), c_size_t, POINTER(shoal_ask_opts), POINTER(shoal_reporter), POINTER(shoal_clicks_stats)]),
    "shoal_linear_outputs": (c_size_t, [c_void_p]),
    "shoal_linear_label": (c_char_p, [c_void_p, c_size_t]),
    "shoal_linear_scores": (c_int, [c_void_p, POINTER(shoal_rows), c_uint, c_void_p]),
    "shoal_linear_weights": (c_int, [c_void_p, c_size_t, c_void_p, c_void_p]),
    "shoal_figure": (c_double, [POINTER(shoal_figures), c_int, c_char_p]),
    "shoal_data_open": (c_int, [c_void_p, c_void_p, POINTER(c_char_p), c_size_t, c_void_p, POINTER(shoal_watch)]),
    "shoal_data_new": (c_int, [c_void_p, POINTER(shoal_sources)]),
    "shoal_data_close": (None, [c_void_p]),
    "shoal_data_check": (c_int, [c_void_p, POINTER(c_char_p), c_size_t]),
    "shoal_data_found": (shoal_found, [c_void_p]),
    "shoal_ranks_encode": (c_int, [c_void_p, c_char_p, POINTER(c_char_p), c_size_t, POINTER(shoal_encode_opts), c_bool, POINTER(shoal_encode_stats)]),
    "shoal_train_plan": (c_int, [POINTER(shoal_train_plan), c_void_p, c_void_p, c_void_p]),
    "shoal_train": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(shoal_train_how), POINTER(shoal_train_stats)]),
    "shoal_checkpoint_read": (c_int, [POINTER(shoal_checkpoint), c_char_p]),
}

# Those that return a status.
statuses = {
    "shoal_analogy",
    "shoal_analogy_words",
    "shoal_checkpoint_read",
    "shoal_classic_check",
    "shoal_classic_ended",
    "shoal_classic_open",
    "shoal_classic_report",
    "shoal_classic_text",
    "shoal_classifier_text",
    "shoal_classify",
    "shoal_clicks_check",
    "shoal_clicks_encode",
    "shoal_clicks_new",
    "shoal_clicks_open",
    "shoal_clicks_open_memory",
    "shoal_clicks_plan",
    "shoal_clicks_read",
    "shoal_clicks_read_memory",
    "shoal_cluster_read",
    "shoal_columns_open",
    "shoal_corpus_new",
    "shoal_corpus_open",
    "shoal_corpus_open_memory",
    "shoal_corpus_part",
    "shoal_cosine",
    "shoal_cosine_words",
    "shoal_data_check",
    "shoal_data_new",
    "shoal_data_open",
    "shoal_encode",
    "shoal_encode_memory",
    "shoal_encode_plan",
    "shoal_eval_check",
    "shoal_eval_open",
    "shoal_eval_open_memory",
    "shoal_eval_run",
    "shoal_gen_clicks",
    "shoal_gen_news",
    "shoal_gen_people",
    "shoal_hnsw_analogy_words",
    "shoal_hnsw_measure",
    "shoal_hnsw_nearest",
    "shoal_hnsw_nearest_words",
    "shoal_hnsw_new",
    "shoal_hnsw_new_rows",
    "shoal_hnsw_open",
    "shoal_hnsw_open_rows",
    "shoal_hnsw_save",
    "shoal_hnsw_there",
    "shoal_images_open",
    "shoal_index_nearest",
    "shoal_index_new",
    "shoal_labelled_open",
    "shoal_labelled_read",
    "shoal_labelled_read_memory",
    "shoal_linear_scores",
    "shoal_linear_weights",
    "shoal_logreg_largest",
    "shoal_map_check",
    "shoal_map_make",
    "shoal_map_write",
    "shoal_map_write_tsv",
    "shoal_model_compress",
    "shoal_model_describe",
    "shoal_model_eval",
    "shoal_model_import",
    "shoal_model_import_as",
    "shoal_model_map",
    "shoal_model_name_classes",
    "shoal_model_open",
    "shoal_model_open_memory",
    "shoal_model_predict",
    "shoal_model_save",
    "shoal_model_verify",
    "shoal_nearest",
    "shoal_nearest_words",
    "shoal_net_export",
    "shoal_net_import",
    "shoal_net_open",
    "shoal_net_predict",
    "shoal_net_predict_pictures",
    "shoal_net_predict_samples",
    "shoal_net_save",
    "shoal_nextword_predict",
    "shoal_nextword_vector",
    "shoal_odd",
    "shoal_odd_words",
    "shoal_options_check",
    "shoal_options_new",
    "shoal_options_read",
    "shoal_options_resume",
    "shoal_options_set",
    "shoal_output_end",
    "shoal_output_open",
    "shoal_output_write",
    "shoal_phrases",
    "shoal_phrases_check",
    "shoal_pictures_write",
    "shoal_ranks_agree",
    "shoal_ranks_encode",
    "shoal_ranks_join",
    "shoal_ranks_share",
    "shoal_report_text",
    "shoal_report_write",
    "shoal_run_read",
    "shoal_run_update",
    "shoal_samples_name_classes",
    "shoal_samples_new",
    "shoal_samples_open",
    "shoal_samples_open_memory",
    "shoal_save_check",
    "shoal_serve_check",
    "shoal_serve_config",
    "shoal_serve_start",
    "shoal_shapes_write",
    "shoal_show_open",
    "shoal_spellings",
    "shoal_study_check",
    "shoal_study_ended",
    "shoal_study_open",
    "shoal_study_predictions",
    "shoal_study_report",
    "shoal_study_simulate",
    "shoal_study_simulated",
    "shoal_study_table",
    "shoal_train",
    "shoal_train_plan",
    "shoal_vectors_compose",
    "shoal_vectors_compress",
    "shoal_vectors_gram_rows",
    "shoal_vectors_map",
    "shoal_vectors_matrix",
    "shoal_vectors_new",
    "shoal_vectors_new_subwords",
    "shoal_vectors_open",
    "shoal_vectors_row",
    "shoal_vectors_save",
    "shoal_vectors_strict",
    "shoal_vectors_text",
    "shoal_vectors_verify",
    "shoal_vocab_build",
    "shoal_vocab_build_memory",
    "shoal_vocab_check",
    "shoal_vocab_new",
    "shoal_vocab_read",
    "shoal_vocab_read_memory",
    "shoal_vocab_write",
    "shoal_world_write",
}

# name: what it is an array of
tables = {
    "shoal_token_options": shoal_option,
    "shoal_text_options": shoal_option,
    "shoal_vocab_options": shoal_option,
    "shoal_table_options": shoal_option,
    "shoal_table_again_options": shoal_option,
    "shoal_rows_options": shoal_option,
    "shoal_rows_again_options": shoal_option,
    "shoal_samples_options": shoal_option,
    "shoal_rows_choices": shoal_choice,
    "shoal_format_choices": shoal_choice,
}
