// Package intake stands between the transports and the store. It decides what is admitted: forms and
// limits, the time of each entry, the operator who answers for it. It pushes back when more arrives
// than the store takes, and tells listeners what changed. It knows no transport and no engine.
package intake
