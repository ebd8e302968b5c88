package workload

import (
	"fmt"
	"math"

	"github.com/reprise-sim/reprise/trace"
)

// gate decides when the next task of the trace starts. Tasks pass it in the order
// of the trace.
type gate interface {
	// expect announces the task that comes next.
	expect(t *trace.Task) error
	// opens is when that task may start: at nowMs or earlier if at once, +Inf if a
	// task has to end first.
	opens(nowMs float64) float64
	// earliest is when it may start if every task inside whose end is not known ends
	// at once.
	earliest(nowMs float64) float64
	// enter lets it in, leave says that a task inside ends at atMs, which may be
	// later than now.
	enter()
	leave(atMs float64)
	// stamp is the arrival time of a call that was due at dueMs and is released at
	// nowMs.
	stamp(dueMs, nowMs float64) float64
}

// timetable starts tasks at their recorded times (spec/replay.md 2.2, 2.5).
type timetable struct {
	speedup   float64
	originMs  float64 // recorded time that is 0; NaN until the first task names it
	releaseMs float64 // recorded time of the task expected last
}

func newTimetable(speedup float64, origin string) *timetable {
	tt := &timetable{speedup: speedup}
	if origin == OriginFirst {
		tt.originMs, tt.releaseMs = math.NaN(), math.Inf(-1)
	}
	return tt
}

// at turns a recorded time into a time of the run. It is one expression, so that
// every program that computes it gets the same bits (spec/replay.md 1.1).
func (tt *timetable) at(recordedMs float64) float64 {
	return (recordedMs - tt.originMs) / tt.speedup
}

func (tt *timetable) expect(t *trace.Task) error {
	if !(t.ReleaseMs >= tt.releaseMs && finite(t.ReleaseMs)) {
		return fmt.Errorf("task %q: release: got %v ms, expected a finite time, at least %v ms: tasks come in order of time",
			t.ID, t.ReleaseMs, tt.releaseMs)
	}
	tt.releaseMs = t.ReleaseMs
	if math.IsNaN(tt.originMs) {
		tt.originMs = t.ReleaseMs
	}
	return nil
}

func (tt *timetable) opens(float64) float64          { return tt.at(tt.releaseMs) }
func (tt *timetable) earliest(nowMs float64) float64 { return tt.opens(nowMs) }
func (tt *timetable) enter()                         {}
func (tt *timetable) leave(float64)                  {}
func (tt *timetable) stamp(dueMs, _ float64) float64 { return dueMs }

// slots keeps a fixed number of tasks in flight and ignores recorded times
// (spec/replay.md 2.3, 2.6).
type slots struct {
	unused  int           // slots that never had a task
	used    int           // slots that had one
	everyMs float64       // between the openings of two slots, see [RampSlots]
	late    bool          // who comes late to a free slot counts from when it was free, see [LateFeedback]
	freeMs  heap[instant] // when used slots are free, as far as that is known
}

// instant is a time in ms.
type instant float64

func (i instant) Before(j instant) bool { return i < j }

func (s *slots) expect(*trace.Task) error { return nil }

func (s *slots) opens(nowMs float64) float64 {
	at := math.Inf(1)
	switch {
	case s.takesUnused():
		at = s.nextMs()
	case len(s.freeMs) > 0:
		at = float64(s.freeMs[0])
	}
	if s.late {
		return at
	}
	return max(nowMs, at)
}

func (s *slots) earliest(nowMs float64) float64 {
	opens := s.opens(nowMs)
	if s.used > len(s.freeMs) {
		return min(nowMs, opens)
	}
	return opens
}

// takesUnused is whether the next task gets a slot that never had one: if there is
// no other, or if that opens before another is free.
func (s *slots) takesUnused() bool {
	return s.unused > 0 && (len(s.freeMs) == 0 || s.nextMs() <= float64(s.freeMs[0]))
}

// nextMs is when the next unused slot opens.
func (s *slots) nextMs() float64 { return float64(s.used) * s.everyMs }

func (s *slots) enter() {
	if s.takesUnused() {
		s.unused--
		s.used++
		return
	}
	s.freeMs.pop()
}

func (s *slots) leave(atMs float64)             { s.freeMs.push(instant(atMs)) }
func (s *slots) stamp(_, nowMs float64) float64 { return nowMs }
