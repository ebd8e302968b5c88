package routing_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-sim/reprise/routing"
	"github.com/reprise-sim/reprise/setting"
)

// complaints are the fields that an error names, and its text.
func complaints(err error) (fields []string, text string) {
	for _, e := range setting.All(err) {
		fields = append(fields, e.Field)
	}
	if err != nil {
		text = err.Error()
	}
	return fields, text
}

func TestWrongSettingsOfLocalRoutersAreNamed(t *testing.T) {
	for _, c := range []struct {
		change func(*routing.Settings)
		want   string // the whole message; "" if all is well
	}{
		{func(*routing.Settings) {}, ""},
		{func(s *routing.Settings) {
			s.LoadAlpha, s.ScoreAlpha, s.ScoreBeta, s.PreciseProbeLatencyUs = 0, 0, 0, 0
		}, ""},
		{func(s *routing.Settings) { s.Mode = "cache_afinity" },
			"mode: cache_afinity: want one of cache_affinity, cache_load, cache_score, prefix_affinity, session_affinity, power_of_two, precise, random, round_robin, ttl_aware, least_loaded, least_tokens, estimated_ttft"},
		{func(s *routing.Settings) { s.LoadAlpha = -0.1 }, "load_alpha: -0.1: want a finite number, at least 0"},
		{func(s *routing.Settings) { s.ScoreAlpha = math.NaN() }, "score_alpha: NaN: want a finite number, at least 0"},
		{func(s *routing.Settings) { s.ScoreBeta = math.Inf(1) }, "score_beta: +Inf: want a finite number, at least 0"},
		{func(s *routing.Settings) { s.PrefixK = 0 }, "prefix_k: 0: want a number of blocks, at least 1"},
		{func(s *routing.Settings) { s.AffinityFanOut = -1 }, "affinity_fan_out: -1: want a number of instances, or 0"},
		{func(s *routing.Settings) { s.PreciseProbeLatencyUs = -1 }, "precise_probe_latency_us: -1: want a finite number, at least 0"},
		{func(s *routing.Settings) { s.PreciseProbeTopK = 0 }, "precise_probe_topk: 0: want a number of instances, at least 1"},
	} {
		s := routing.Defaults()
		c.change(&s)
		if _, got := complaints(s.Validate()); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", s, got, c.want)
		}
	}
}

func TestWrongSettingsOfGlobalRoutersAreNamed(t *testing.T) {
	for _, c := range []struct {
		change func(*routing.GlobalSettings)
		want   string
	}{
		{func(*routing.GlobalSettings) {}, ""},
		{func(s *routing.GlobalSettings) { s.LengthPenaltyWeight, s.LoadWeight, s.CacheWeight = 0, 0, 0 }, ""},
		{func(s *routing.GlobalSettings) { s.Mode = "strict" },
			"mode: strict: want one of strict_input_length, spill, bucket_score, least_loaded, round_robin"},
		{func(s *routing.GlobalSettings) { s.LoadWeight = -1 }, "load_weight: -1: want a finite number, at least 0"},
		{func(s *routing.GlobalSettings) { s.CacheWeight = math.Inf(1) }, "cache_weight: +Inf: want a finite number, at least 0"},
		{func(s *routing.GlobalSettings) { s.LengthPenaltyWeight = math.NaN() }, "length_penalty_weight: NaN: want a finite number, at least 0"},
		{func(s *routing.GlobalSettings) {
			s.Mode, s.LengthPenaltyWeight, s.LoadWeight, s.CacheWeight = "bucket_score", 0, 0, 0
		}, "length_penalty_weight: 0: want a number above 0 here, in load_weight or in cache_weight: bucket_score needs one of them"},
		{func(s *routing.GlobalSettings) { s.SpillLoad = -1 }, "spill_load: -1: want a finite number, at least 0"},
		{func(s *routing.GlobalSettings) { s.ViewDelayMs = -1 }, "view_delay_ms: -1: want a finite number, at least 0"},
	} {
		s := routing.GlobalDefaults()
		c.change(&s)
		if _, got := complaints(s.Validate()); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", s, got, c.want)
		}
	}
}

// A trace that knows only lengths leaves the modes that need no content.
func TestRunsRefuseWhatTheyCannotShow(t *testing.T) {
	const withoutContent = "want a mode that does without the content of prompts, which this run has not: " +
		"one of least_loaded, least_tokens, power_of_two, random, round_robin, session_affinity"
	for _, p := range routing.Policies() {
		s := routing.Defaults()
		s.Mode = p.Mode
		_, got := complaints(s.Without(routing.Content))
		want := ""
		if !strings.Contains(withoutContent+",", " "+p.Mode+",") {
			want = "mode: " + p.Mode + ": " + withoutContent
		}
		if got != want {
			t.Errorf("%s on lengths: %q, want %q", p.Mode, got, want)
		}
		fields, _ := complaints(s.Without(routing.Prices))
		if refused := len(fields) > 0; refused != (p.Mode == "estimated_ttft") {
			t.Errorf("%s without prices: refused %v", p.Mode, refused)
		}
	}
	g := routing.GlobalDefaults()
	g.Mode = "bucket_score"
	_, got := complaints(g.Without(routing.Content))
	if want := "mode: bucket_score: want a mode that does without the content of prompts, which this run has not: " +
		"one of least_loaded, round_robin, spill, strict_input_length; or a cache_weight of 0"; got != want {
		t.Errorf("bucket_score on lengths: %q, want %q", got, want)
	}
	g.CacheWeight = 0
	if err := g.Without(routing.Content); err != nil {
		t.Errorf("bucket_score without cache weight on lengths: %v", err)
	}
}

// Who needs nothing is placed ahead of time.
func TestBlindPoliciesNeedNothing(t *testing.T) {
	var blind []string
	for _, p := range routing.Policies() {
		s := routing.Defaults()
		s.Mode = p.Mode
		if routing.New(s, 42).Needs() == 0 {
			blind = append(blind, p.Mode)
		}
	}
	if want := []string{"random", "round_robin", "session_affinity"}; !slices.Equal(blind, want) {
		t.Errorf("local: %v, want %v", blind, want)
	}
	blind = nil
	for _, p := range routing.GlobalPolicies() {
		if p.New(routing.GlobalDefaults()).Needs() == 0 {
			blind = append(blind, p.Mode)
		}
	}
	if want := []string{"round_robin", "strict_input_length"}; !slices.Equal(blind, want) {
		t.Errorf("global: %v, want %v", blind, want)
	}
}

// The enum of a mode names every policy, and every setting that a policy uses is one.
func TestSettingsKnowThePolicies(t *testing.T) {
	var modes, keys []string
	for _, p := range routing.Policies() {
		modes, keys = append(modes, p.Mode), append(keys, p.Keys...)
	}
	agree(t, reflect.TypeFor[routing.Settings](), modes, keys)
	modes, keys = nil, nil
	for _, p := range routing.GlobalPolicies() {
		modes, keys = append(modes, p.Mode), append(keys, p.Keys...)
	}
	agree(t, reflect.TypeFor[routing.GlobalSettings](), modes, append(keys, "view_delay_ms"))
}

func agree(t *testing.T, settings reflect.Type, modes, used []string) {
	t.Helper()
	var known []string
	for i := range settings.NumField() {
		tag := settings.Field(i).Tag
		if key := tag.Get("yaml"); key != "mode" {
			known = append(known, key)
		} else if enum := strings.Split(tag.Get("enum"), ","); !slices.Equal(enum, modes) {
			t.Errorf("enum %v, policies %v", enum, modes)
		}
		if tag.Get("yaml") != tag.Get("json") || tag.Get("doc") == "" {
			t.Errorf("%s: tags %s", settings.Field(i).Name, tag)
		}
	}
	slices.Sort(known)
	slices.Sort(used)
	if used = slices.Compact(used); !slices.Equal(known, used) {
		t.Errorf("settings %v, policies use %v", known, used)
	}
}
