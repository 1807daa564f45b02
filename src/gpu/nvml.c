/* nvml.c - the texts of NVML's return codes */
#include "gpu/nvml.h"

const char *nvml_code_text(int code)
{
    switch (code) {
#define X(name, number, text) \
    case number:              \
        return text;
        NVML_CODES(X)
#undef X
    default:
        return "Unknown Error";
    }
}
