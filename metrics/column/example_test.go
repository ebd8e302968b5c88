package column_test

import (
	"fmt"

	"github.com/reprise-sim/reprise/metrics/column"
)

func ExampleAtRanks() {
	spill := column.NewSpill("")
	defer spill.Close()
	gaps := column.New(spill)
	gaps.Add(30)                         // one gap of 30 ms
	gaps.AddEqual([]float64{20, 21}, 50) // two passes that continue 50 requests each
	at, err := column.AtRanks([]int64{column.Rank(gaps.Len(), 50), column.Rank(gaps.Len(), 99), gaps.Len() - 1}, gaps)
	fmt.Println(gaps.Len(), at, err)
	// Output: 101 [21 21 30] <nil>
}
