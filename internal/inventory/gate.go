package inventory

import "context"

// gate lets one caller at a time at something that only the store can fill in. It is a lock whose
// wait ends with the caller's context, for what happens behind it can take as long as a store does.
// It holds the token of whoever is inside; make it with newGate.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

// enter waits until the gate is free, in the order of arrival, or for the context, whose error it
// returns. A caller that has left already is never let in.
func (g gate) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case g <- struct{}{}: // at a gate that is free, without a look at the context's channel; nobody who waits is passed by
		return nil
	default:
	}
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave lets the next one in.
func (g gate) leave() { <-g }
