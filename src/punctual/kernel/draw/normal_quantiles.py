"""Standard normal numbers from uniform ones: the inverse of the normal distribution function.

Wichura's AS 241 (Applied Statistics 37, 1988): three rational functions, accurate to about 1e-16. A sixth of the
numbers lie in the tails and need a logarithm. They are gathered, so that both parts become loops of vector
instructions, 4 ns a number, of which a test for each number would take twice.

The logarithm is that of fdlibm, in additions, multiplications and one division: those are the same on every machine,
while a library's logarithm may differ in its last bit. So draws have the same bits everywhere.
"""

from __future__ import annotations

import math

import numpy as np

from punctual.kernel.arrays.state import F64, I64
from punctual.kernel.compiled import compiled

U = np.uint64
Eight = tuple[float, float, float, float, float, float, float, float]
CENTRE = 0.425
FAR = 5.0

_CENTRE: tuple[Eight, Eight] = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)  # fmt: skip
_NEAR: tuple[Eight, Eight] = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
)  # fmt: skip
_FAR: tuple[Eight, Eight] = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)  # fmt: skip
_ROOT_HALF = U(0x3FE6A09E667F3BCD)  # the bits of sqrt(1/2)
_TO_ONE = U(0x3FF0000000000000) - _ROOT_HALF
_FRACTION = U(0x000FFFFFFFFFFFFF)
_WHOLE = U(0x4330000000000000)  # the bits of 2**52: with an integer below, that much more
_BIAS = 2.0**52 + 1023.0
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_LOG = (
    1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
    2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01,
)  # fmt: skip


def standard_normals(uniform: F64) -> F64:
    """The normal number below which a standard normal is with each probability: multiples of 2**-53 inside (0, 1).

    >>> standard_normals(np.array([0.5, 0.975])).round(6).tolist()
    [0.0, 1.959964]
    """
    found = uniform.ravel().copy()
    to_normals(found, np.empty(found.size, np.int64), np.empty((2, found.size)))
    return found.reshape(uniform.shape)


@compiled
def to_normals(values: F64, where: I64, tails: F64) -> None:
    """Replace uniform numbers by normal ones; ``where`` and ``tails`` (two rows) are room for as many."""
    far, near = tails[0], tails[1]
    count = 0
    for i in range(values.size):
        where[count] = i
        near[count] = values[i]
        count += 1 if abs(values[i] - 0.5) > CENTRE else 0
    for i in range(U(values.size)):
        q = values[i] - 0.5
        values[i] = q * _ratio(0.180625 - q * q, _CENTRE)
    for j in range(U(count)):
        q = near[j] - 0.5
        r = math.sqrt(-logarithm(0.5 - abs(q)))
        x = _ratio(r - 1.6, _NEAR)
        far[j] = r if q > 0.0 else -r
        near[j] = x if q > 0.0 else -x
    for j in range(count):
        if abs(far[j]) > FAR:
            x = _ratio(abs(far[j]) - FAR, _FAR)
            near[j] = x if far[j] > 0.0 else -x
        values[where[j]] = near[j]


@compiled
def logarithm(x: float) -> float:
    """The natural logarithm of a normal number below 1, to less than one unit in the last place."""
    bits = np.float64(x).view(np.uint64) + _TO_ONE
    k = U((bits >> U(52)) | _WHOLE).view(np.float64) - _BIAS
    f = U((bits & _FRACTION) + _ROOT_HALF).view(np.float64) - 1.0
    half = 0.5 * f * f
    s = np.divide(f, 2.0 + f)  # a plain division would ask for zeros
    z = s * s
    rest = (((((_LOG[0] * z + _LOG[1]) * z + _LOG[2]) * z + _LOG[3]) * z + _LOG[4]) * z + _LOG[5]) * z + _LOG[6]
    return float(k * _LN2[0] - ((half - (s * (half + rest * z) + k * _LN2[1])) - f))


@compiled
def _ratio(r: float, c: tuple[Eight, Eight]) -> float:
    return float(np.divide(_polynomial(r, c[0]), _polynomial(r, c[1])))


@compiled
def _polynomial(r: float, c: Eight) -> float:
    return ((((((c[0] * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]) * r + c[5]) * r + c[6]) * r + c[7]
