package synth

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/arrival"
	"github.com/reprise-sim/reprise/setting"
)

// Spec describes a synthetic trace. Zero values are not defaults; start from
// [Defaults].
//
// A task is a session: Turns calls, each sent when the answer to the one before has
// come and the user has thought. A prompt is made of four parts:
//
//	system prefix | group prefix | rest of the first input | inputs of later turns
//	  all tasks      its group        nobody else               nobody else
type Spec struct {
	Tasks     int    `yaml:"tasks" json:"tasks" doc:"number of tasks: requests, or sessions with several turns"`
	Seed      uint64 `yaml:"seed" json:"seed" doc:"seed of all random numbers"`
	BlockSize int    `yaml:"block_size" json:"block_size" doc:"tokens of a block id; what is shared is shared in whole blocks"`

	Arrival *arrival.ProcessSettings `yaml:"arrival" json:"arrival" doc:"when tasks arrive; null: poisson, 1 a second"`

	Input     *arrival.DistributionSettings `yaml:"input" json:"input" doc:"tokens that the first turn adds behind the system prefix, group prefix included; null: 1024"`
	TurnInput *arrival.DistributionSettings `yaml:"turn_input" json:"turn_input" doc:"tokens that each later turn adds; null: as input"`
	Output    *arrival.DistributionSettings `yaml:"output" json:"output" doc:"tokens that each call generates; null: 128"`

	SystemPrefixTokens int     `yaml:"system_prefix_tokens" json:"system_prefix_tokens" doc:"tokens in front of every prompt, the same for all; a multiple of block_size"`
	PrefixGroups       int     `yaml:"prefix_groups" json:"prefix_groups" doc:"number of groups that tasks belong to at random; 0: none"`
	SharedPrefixRatio  float64 `yaml:"shared_prefix_ratio" json:"shared_prefix_ratio" doc:"fraction of the blocks of the first input that a task shares with its group"`

	Turns      *arrival.DistributionSettings `yaml:"turns" json:"turns" doc:"calls of a task; null: 1"`
	Think      *arrival.DistributionSettings `yaml:"think" json:"think" doc:"ms from the end of a call to the next one of its task; null: 0"`
	KeepOutput bool                          `yaml:"keep_output" json:"keep_output" doc:"later prompts contain the generated tokens too, not only the earlier prompts"`
}

// Defaults are 100 independent requests of 1024 input and 128 output tokens
// (spec/replay.md 7), on average one a second.
func Defaults() Spec { return Spec{Tasks: 100, Seed: 42, BlockSize: 64} }

// resolved is s with the defaults of its policies. TurnInput may stay nil.
func (s Spec) resolved() Spec {
	if s.Arrival == nil {
		rate := 1.0
		s.Arrival = &arrival.ProcessSettings{Process: "poisson", Rate: &rate}
	}
	s.Input = orFixed(s.Input, 1024)
	s.Output = orFixed(s.Output, 128)
	s.Turns = orFixed(s.Turns, 1)
	s.Think = orFixed(s.Think, 0)
	return s
}

// orFixed is d, or always v if there is no d.
func orFixed(d *arrival.DistributionSettings, v float64) *arrival.DistributionSettings {
	if d != nil {
		return d
	}
	return &arrival.DistributionSettings{Distribution: "fixed", Value: &v}
}

// Validate reports every wrong setting as a [setting.Error].
func (s Spec) Validate() error {
	_, err := s.resolved().policies()
	return err
}

// policies are what the spec's settings name.
type policies struct {
	arrival                                arrival.Process
	input, turnInput, output, turns, think arrival.Distribution
}

// policies checks a resolved spec and makes its policies.
func (s Spec) policies() (policies, error) {
	var p setting.Problems
	p.Check(s.Tasks >= 1 && s.Tasks <= math.MaxInt32, "tasks", s.Tasks, "from 1 to 2147483647")
	p.Check(s.BlockSize >= 1 && s.BlockSize <= maxBlock, "block_size", s.BlockSize, fmt.Sprintf("from 1 to %d", maxBlock))
	s.checkPrefixes(&p)

	var made policies
	var err error
	made.arrival, err = arrival.NewProcess(*s.Arrival)
	p.Under("arrival", err)
	distribution := func(key string, d *arrival.DistributionSettings) arrival.Distribution {
		policy, err := arrival.NewDistribution(*d)
		p.Under(key, err)
		return policy
	}
	made.input = distribution("input", s.Input)
	made.turnInput = made.input
	if s.TurnInput != nil {
		made.turnInput = distribution("turn_input", s.TurnInput)
	}
	made.output = distribution("output", s.Output)
	made.turns = distribution("turns", s.Turns)
	made.think = distribution("think", s.Think)
	return made, p.Err()
}

// checkPrefixes checks what prompts have in common.
func (s Spec) checkPrefixes(p *setting.Problems) {
	p.Check(s.SystemPrefixTokens >= 0 && s.SystemPrefixTokens <= math.MaxInt32 && s.SystemPrefixTokens%max(s.BlockSize, 1) == 0,
		"system_prefix_tokens", s.SystemPrefixTokens, fmt.Sprintf("a multiple of block_size %d, below 2^31", s.BlockSize))
	p.Check(s.PrefixGroups >= 0 && s.PrefixGroups <= maxGroups, "prefix_groups", s.PrefixGroups, fmt.Sprintf("from 0 to %d", maxGroups))
	p.Check(s.SharedPrefixRatio >= 0 && s.SharedPrefixRatio <= 1, "shared_prefix_ratio", s.SharedPrefixRatio, "a number from 0 to 1")
	p.Check(s.SharedPrefixRatio == 0 || s.PrefixGroups > 0, "prefix_groups", s.PrefixGroups, "at least 1 with a shared_prefix_ratio above 0")
	p.Check(s.PrefixGroups == 0 || s.SharedPrefixRatio > 0, "shared_prefix_ratio", s.SharedPrefixRatio, "above 0 with prefix_groups: nothing would be shared")
}
