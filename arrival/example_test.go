package arrival_test

import (
	"fmt"

	"github.com/reprise-sim/reprise/arrival"
)

// printTimes prints the first four arrivals of a process, in ms.
func printTimes(p arrival.Process) {
	times := arrival.NewTimes(p, arrival.NewRand(42, "example"))
	fmt.Println(times.Next(), times.Next(), times.Next(), times.Next())
}

// printDraws prints four draws of a distribution.
func printDraws(d arrival.Distribution) {
	r := arrival.NewRand(42, "example")
	fmt.Println(d.Draw(r), d.Draw(r), d.Draw(r), d.Draw(r))
}

// printTokens prints four draws of a distribution as numbers of tokens.
func printTokens(d arrival.Distribution) {
	r := arrival.NewRand(42, "example")
	next := func() int32 { return arrival.Tokens(d.Draw(r)) }
	fmt.Println(next(), next(), next(), next())
}

func ExampleBurst() {
	printTimes(arrival.Burst{})
	// Output: 0 0 0 0
}

func ExampleConstant() {
	printTimes(arrival.Constant{PerSecond: 10})
	printTimes(arrival.Constant{PerSecond: 3})
	// Output:
	// 0 100 200 300
	// 0 333.333 666.667 1000
}

func ExamplePoisson() {
	printTimes(arrival.Poisson{PerSecond: 10})
	// Output: 0 129.915 130.823 142.425
}

// A smoothness above 1 evens the gaps out, below 1 they come in clumps.
func ExampleGamma() {
	printTimes(arrival.Gamma{PerSecond: 10, Smoothness: 100})
	printTimes(arrival.Gamma{PerSecond: 10, Smoothness: 0.5})
	// Output:
	// 0 98.256 217.68 328.775
	// 0 6.569 14.622 16.204
}

// Twice as fast in the second half of every second.
func ExampleProcessFunc() {
	printTimes(arrival.ProcessFunc(func(_ int64, previousMs float64, _ *arrival.Rand) float64 {
		if int64(previousMs)%1000 < 500 {
			return previousMs + 200
		}
		return previousMs + 100
	}))
	// Output: 0 200 400 600
}

func ExampleFixed() {
	printDraws(arrival.Fixed{Value: 128})
	// Output: 128 128 128 128
}

func ExampleUniform() {
	printDraws(arrival.Uniform{Min: 1, Max: 6})
	// Output: 5 1 1 1
}

func ExampleNormal() {
	printTokens(arrival.Normal{Mean: 1024, StdDev: 100})
	// Output: 1010 1077 1026 1134
}

func ExampleNewLogNormal() {
	printTokens(arrival.NewLogNormal(1024, 512))
	// Output: 856 1177 924 1543
}

func ExampleExponential() {
	printTokens(arrival.Exponential{Mean: 5000})
	// Output: 6496 45 580 481
}

func ExampleNewEmpirical() {
	d, err := arrival.NewEmpirical([]float64{10, 20, 500}, []float64{7, 2, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	printDraws(d)
	// Output: 20 10 10 10
}

func ExampleClipped() {
	printDraws(arrival.Clipped{Of: arrival.Fixed{Value: 7}, Min: 1, Max: 5})
	// Output: 5 5 5 5
}

func ExampleDistributionFunc() {
	coin := arrival.DistributionFunc(func(r *arrival.Rand) float64 { return float64(r.Below(2)) })
	printDraws(coin)
	// Output: 1 0 0 0
}

// Settings as they stand in a file: what is wrong with them is said by name.
func ExampleNewProcess() {
	rate := 2.0
	_, err := arrival.NewProcess(arrival.ProcessSettings{Process: "gamma", Rate: &rate})
	fmt.Println(err)
	cv := 1.5
	p, _ := arrival.NewProcess(arrival.ProcessSettings{Process: "gamma", Rate: &rate, CV: &cv})
	printTimes(p)
	// Output:
	// smoothness: not set: want a number, or cv instead
	// 0 24.717 49.26 54.263
}
