package latency

import (
	"fmt"
	"math"
)

// A price goes through the duration type of the reference simulator
// (spec/engine.md 3.4): whole seconds and whole nanoseconds, from seconds as a
// double by rounding the exact value to the nearest, ties to even. Everything here
// repeats those operations, not a decimal rounding.

// toInt added to a number in [0, 2^51] and subtracted again rounds it to the
// nearest integer, ties to even.
const toInt = 1.5 * (1 << 52)

// fractional bounds the doubles that can have a fraction; above it all are whole.
const fractional = 1 << 52

// longest bounds the whole seconds of a duration.
const longest = 1 << 64

// steady bounds the seconds for which a duration is the nearest one to its own
// value in ms: the four roundings on the way move it by less than 2^-50 of itself,
// which is less than half a nanosecond.
const steady = 1 << 19

// round is the nearest duration to x in [0, fractional) seconds, in seconds: the
// whole ones + nanoseconds/1e9.
func round(x float64) float64 {
	whole := float64(int64(x))
	fraction := x - whole // exact
	y := float64(fraction * 1e9)
	nanos := y + toInt - toInt
	// Rounding the product first is monotone, so it leads astray only if it lands
	// on a half (spec/fast-path.md 7).
	if math.Abs(y-nanos) == 0.5 {
		nanos = breakTie(fraction, y, nanos)
	}
	return whole + nanos/1e9
}

// breakTie rounds fraction·1e9, whose double y lies on a half, by the exact
// product; even is the answer if that is a tie too.
func breakTie(fraction, y, even float64) float64 {
	switch rest := math.FMA(fraction, 1e9, -y); {
	case rest > 0:
		return y + 0.5
	case rest < 0:
		return y - 0.5
	}
	return even
}

// nearest is round for any x ≥ 0.
func nearest(x float64) (float64, error) {
	switch {
	case x < fractional:
		return round(x), nil
	case x < longest:
		return x, nil
	}
	return 0, fmt.Errorf("%v s is longer than a duration can be", x)
}

// wholeNanos divides a raw price in ms by ratio, if that is not 0, and rounds to
// whole nanoseconds before and after. The result is what a clock is moved by.
func wholeNanos(ms, ratio float64) (float64, error) {
	if !notNegative(ms) {
		return 0, fmt.Errorf("%v ms: want "+wantNotNegative, ms)
	}
	seconds, err := nearest(ms / 1000)
	if err != nil {
		return 0, err
	}
	if ratio > 0 && ratio != 1 || seconds >= steady {
		if seconds, err = rescale(seconds, ratio); err != nil {
			return 0, err
		}
	}
	return float64(seconds * 1000), nil
}

// rescale divides a duration by ratio. Long ones are turned to ms and back once
// more, as the reference does before it moves its clock.
func rescale(seconds, ratio float64) (float64, error) {
	var err error
	if ratio > 0 {
		if seconds, err = nearest(seconds / ratio); err != nil {
			return 0, err
		}
	}
	if seconds < steady {
		return seconds, nil
	}
	return nearest(float64(seconds*1000) / 1000)
}

// allWholeNanos is wholeNanos on all of dst in place. On an error it says at
// which index.
func allWholeNanos(dst []float64, ratio float64) (int, error) {
	divide := ratio > 0 && ratio != 1
	for i, ms := range dst {
		x := ms / 1000
		if divide && x >= 0 && x < fractional {
			x = round(x) / ratio
		}
		if x >= 0 && x < steady-1 {
			dst[i] = float64(round(x) * 1000)
			continue
		}
		var err error
		if dst[i], err = wholeNanos(ms, ratio); err != nil {
			return i, err
		}
	}
	return 0, nil
}
