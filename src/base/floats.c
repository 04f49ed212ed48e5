/* Denormal numbers, those below FLT_MIN: units that no longer learn are full of them, and a product
 * with one takes the CPU as long as a hundred others. */
#include "base/base.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { FLUSH = 1 << 15 | 1 << 6 }; /* results below FLT_MIN, and what is read, are 0 */

unsigned floats_mode(void)
{
    return _mm_getcsr() & FLUSH;
}

void floats_set(unsigned mode)
{
    unsigned now = _mm_getcsr(), want = (now & ~(unsigned)FLUSH) | mode;

    if (want != now) /* writing takes some ten times as long as reading */
        _mm_setcsr(want);
}
#else
enum { FLUSH = 0 };

unsigned floats_mode(void)
{
    return 0;
}

void floats_set(unsigned mode)
{
}
#endif

unsigned floats_flush(void)
{
    unsigned before = floats_mode();

    floats_set(FLUSH);
    return before;
}
