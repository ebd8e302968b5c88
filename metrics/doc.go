// Package metrics is what was seen: the life of each request ([Row], kept in a
// [Ledger]), the end of each pass ([PassLog]), the gaps between tokens ([Gaps]),
// and the figures made of them: a [Tally] takes what has ended and makes a
// [Summary]. It decides nothing and knows neither engines nor files.
//
// Token times are not stored with requests. A request's tokens are runs of
// passes, one token a pass, and the times of an instance's passes stand once in
// its log. Rows, passes and gaps are forgotten as soon as nothing open refers to
// them, so memory follows what is live.
//
// All times are virtual (or, for a live server, wall-clock) milliseconds from the
// start of the run. What is undefined is NaN in a Row, null or empty in a file.
package metrics
