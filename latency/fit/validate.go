package fit

import "math"

// Errors sums up relative errors; all are 0 if there are none.
type Errors struct {
	Count  int     `json:"count"`
	MAPE   float64 `json:"mape"`   // mean of the absolute errors, %
	Median float64 `json:"median"` // of the absolute errors, %
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	Bias   float64 `json:"bias"` // mean of the signed errors, %
}

// SumUp is the summary of relative errors. Those that are not finite do not count.
func SumUp(relative []float64) Errors {
	var e Errors
	var absolute []float64
	for _, r := range relative {
		if math.IsNaN(r) || math.IsInf(r, 0) {
			continue
		}
		e.Count++
		e.MAPE += math.Abs(r)
		e.Bias += r
		absolute = append(absolute, 100*math.Abs(r))
	}
	if e.Count == 0 {
		return e
	}
	e.MAPE *= 100 / float64(e.Count)
	e.Bias *= 100 / float64(e.Count)
	e.Median, e.P90, e.P99 = Median(absolute), Quantile(absolute, 0.9), Quantile(absolute, 0.99)
	return e
}

// CrossValidate is the relative error of each sample under weights that were found
// without its fold: a number for each sample. A fold without samples outside it has
// no errors (NaN).
func CrossValidate(samples []Sample, folds []int, solve func([]Sample) ([]float64, error)) ([]float64, error) {
	errors := make([]float64, len(samples))
	for i := range errors {
		errors[i] = math.NaN()
	}
	done := map[int]bool{}
	for _, fold := range folds {
		if done[fold] {
			continue
		}
		done[fold] = true
		var rest []Sample
		for i, s := range samples {
			if folds[i] != fold {
				rest = append(rest, s)
			}
		}
		if len(rest) == 0 {
			continue
		}
		weights, err := solve(rest)
		if err != nil {
			return nil, err
		}
		for i := range samples {
			if folds[i] == fold {
				errors[i] = samples[i].Error(weights)
			}
		}
	}
	return errors, nil
}

// Blocks cuts n samples that follow one another in time into so many folds of
// neighbours: neighbouring passes are nearly copies of each other.
func Blocks(n, folds int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i * folds / max(n, 1)
	}
	return list
}
