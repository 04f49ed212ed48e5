/* The bash completion of shoal, from the tables. */
#include "cmd.h"

/* ---- Which verb the line is in ---------------------------------------------------- */

static void print_path(const struct verb *verb)
{
    for (const struct verb *const *kind = verb->kinds; kind && *kind; kind++) {
        printf("        \"%s\") verb=\"%s\" ;;\n", (*kind)->name, (*kind)->name);
        print_path(*kind);
    }
}

/* ---- The value of the option before the cursor -------------------------------------- */

static void print_choices(const struct choice *choices)
{
    fputs(" words=\"", stdout);
    for (const struct choice *choice = choices; choice->name; choice++)
        printf("%s%s", choice == choices ? "" : " ", choice->name);
    putchar('"');
}

static void print_value(const struct verb *verb, const struct opt *opt)
{
    if (!opt_takes_value(opt))
        return;
    printf("    \"%s --%s\"", verb->name, opt->name);
    if (opt->letter)
        printf(" | \"%s -%c\"", verb->name, opt->letter);
    putchar(')');
    if (opt->kind == OPT_CHOICE)
        print_choices(opt->choices);
    if (opt->kind == OPT_PATH)
        fputs(" files=1", stdout);
    puts(" ;;");
}

static void print_values(const struct verb *verb)
{
    for (const struct opt_group *group = verb->groups; group->opts; group++)
        for (const struct opt *opt = group->opts; opt->name; opt++)
            print_value(verb, opt);
    for (const struct verb *const *kind = verb->kinds; kind && *kind; kind++)
        print_values(*kind);
}

/* ---- Anything else: options, kinds or files ------------------------------------------- */

static void print_words(const struct verb *verb, const struct verb *root)
{
    /* The operands of help are the verbs themselves. */
    const struct verb *owner = verb == &cmd_help ? root : verb;

    printf("    \"%s:-\"*) words=\"", verb->name);
    for (const struct opt_group *group = verb->groups; group->opts; group++)
        for (const struct opt *opt = group->opts; opt->name; opt++)
            printf("--%s ", opt->name);
    printf("\" ;;\n    \"%s:\"*)", verb->name);
    if (owner->kinds) {
        fputs(" words=\"", stdout);
        for (const struct verb *const *kind = owner->kinds; *kind; kind++)
            printf("%s ", verb_word(*kind));
        putchar('"');
    } else if (verb->operands->name) {
        fputs(" files=1", stdout);
    }
    puts(" ;;");
    for (const struct verb *const *kind = verb->kinds; kind && *kind; kind++)
        print_words(*kind, root);
}

void completion_print(const struct verb *root)
{
    printf("# bash completion of shoal %s, made by `shoal help --bash-completion`\n"
           "_shoal()\n"
           "{\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
           "    local verb=shoal words='' files='' word\n"
           "\n"
           "    # Bash breaks --name=value at the =.\n"
           "    if [[ $cur == = ]]; then\n"
           "        cur=\n"
           "    elif [[ $prev == = ]]; then\n"
           "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
           "        case \"$verb $word\" in\n",
           shoal_version());
    print_path(root);
    fputs("        esac\n"
          "    done\n"
          "    case \"$verb $prev\" in\n",
          stdout);
    print_values(root);
    fputs("    *) case \"$verb:$cur\" in\n", stdout);
    print_words(root, root);
    fputs("    esac ;;\n"
          "    esac\n"
          "    if [[ $files ]]; then\n"
          "        compopt -o filenames 2>/dev/null\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
          "    else\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "    fi\n"
          "}\n"
          "complete -F _shoal shoal\n",
          stdout);
}
