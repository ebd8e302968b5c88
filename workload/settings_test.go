package workload_test

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/reprise-sim/reprise/workload"
)

// A run's settings are written down and read again when it is repeated.
func TestSettingsSurviveBeingWritten(t *testing.T) {
	for _, c := range []struct {
		s    workload.Settings
		want string
	}{
		{workload.Defaults(), `{"mode":"trace","speedup":1,"origin":"first","turns":"after_previous"}`},
		{inSlots(4), `{"mode":"concurrency","speedup":1,"origin":"first","turns":"after_previous","concurrency":4}`},
	} {
		text, err := json.Marshal(c.s)
		if err != nil || string(text) != c.want {
			t.Fatalf("%s, %v; expected %s", text, err, c.want)
		}
		var back workload.Settings
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, c.s) || back.Validate() != nil {
			t.Fatalf("read back as %+v, %v", back, err)
		}
	}
}

func TestLimitsAreNotNegative(t *testing.T) {
	for _, c := range []struct {
		requests int
		timeMs   float64
		want     string
	}{
		{0, 0, ""},
		{7, 1e6, ""},
		{-1, 1, "requests: -1: want at least 0"},
		{1, -1, "max_sim_time_ms: -1: want a finite number, at least 0"},
		{1, math.NaN(), "max_sim_time_ms: NaN: want a finite number, at least 0"},
		{1, math.Inf(1), "max_sim_time_ms: +Inf: want a finite number, at least 0"},
	} {
		got := ""
		if err := (workload.Limits{Requests: &c.requests, MaxSimTimeMs: &c.timeMs}).Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%d requests, %v ms: error %q, expected %q", c.requests, c.timeMs, got, c.want)
		}
	}
	if err := (workload.Limits{}).Validate(); err != nil {
		t.Errorf("no limits: %v", err)
	}
}
