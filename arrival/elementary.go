package arrival

import "math"

// ln 2 in two parts: the first ends in zeros, so its product with an exponent is
// exact.
const (
	ln2High = 0x1.62e42feep-1
	ln2Low  = 0x1.a39ef35793c76p-33
)

// ln is the natural logarithm of a finite x > 0, to about 1 unit in the last
// place. With x = m·2^k, m next to 1, and f = (m−1)/(m+1):
//
//	ln x = k·ln 2 + 2·(f + f³/3 + f⁵/5 + …)
//
// |f| < 0.172, so the terms up to f²¹ are enough.
func ln(x float64) float64 {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	f := (m - 1) / (m + 1)
	f2 := float64(f * f)
	tail := 0.0
	for i := 21; i >= 3; i -= 2 {
		tail = float64(f2 * (1/float64(i) + tail))
	}
	small := float64(2*f) + float64(2*f*tail)
	return float64(float64(k)*ln2High) + (small + float64(float64(k)*ln2Low))
}

// exp is e^x for a finite x or −Inf, to about 1 unit in the last place. With
// x = k·ln 2 + r, |r| ≤ ln 2 / 2:
//
//	e^x = 2^k · (1 + r/1·(1 + r/2·(1 + r/3·(…))))
//
// where 14 terms are enough.
func exp(x float64) float64 {
	switch {
	case x > 710:
		return math.Inf(1)
	case x < -746:
		return 0
	}
	k := math.Floor(x/math.Ln2 + 0.5)
	r := x - float64(k*ln2High) - float64(k*ln2Low)
	sum := 1.0
	for i := 14; i >= 1; i-- {
		sum = 1 + float64(r*sum)/float64(i)
	}
	return math.Ldexp(sum, int(k))
}
