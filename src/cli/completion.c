/* completion.c - capstan completion: the script that a shell reads; scripts/options_shells.py makes them */
#include <stdio.h>
#include "base/bytes.h"
#include "cli/cli.h"

int completion_main(const struct options *o)
{
    static const char *const shells[] = {"bash", "zsh", "fish"}; /* ORDER of completion_texts */
    for (int i = 0; i < 3; i++)
        if (text_equal(o->arguments[0], shells[i])) {
            fputs(completion_texts[i], stdout);
            return EXIT_OK;
        }
    return options_wrong(o, "%s", o->command->arguments_wrong);
}
