package weir

// String returns the text form of p, which [ParsePolicy] describes.
func (p all) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p all) MarshalText() ([]byte, error) { return marshalPolicy(p) }

func (p all) text() string { return "all" + partsText(Parts(p)) }

func readAll(r *textReader) Policy { return All(r.parts()...) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p tiers) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p tiers) MarshalText() ([]byte, error) { return marshalPolicy(p) }

func (p tiers) text() string { return "tiers" + partsText(Parts(p)) }

func readTiers(r *textReader) Policy { return Tiers(r.parts()...) }

// String returns the text form of p, which [ParsePolicy] describes.
func (p SingleRateMarker) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p SingleRateMarker) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
func (p *SingleRateMarker) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p SingleRateMarker) text() string {
	return "single-rate-marker " + rateText(p.Committed.Limit, p.Committed.Per) +
		countText(" burst=", p.Committed.Burst) + countText(" excess=", p.Excess)
}

func readSingleRateMarker(r *textReader) Policy {
	var p SingleRateMarker
	p.Committed.Limit, p.Committed.Per = r.rate()
	r.options(countOption("burst", &p.Committed.Burst), countOption("excess", &p.Excess))
	return p
}

// String returns the text form of p, which [ParsePolicy] describes.
func (p TwoRateMarker) String() string { return policyText(p) }

// MarshalText implements [encoding.TextMarshaler]. It fails if [New] refuses p.
func (p TwoRateMarker) MarshalText() ([]byte, error) { return marshalPolicy(p) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It refuses other kinds of policy, and what
// [ParsePolicy] refuses; p is then left as it was.
func (p *TwoRateMarker) UnmarshalText(text []byte) error { return unmarshalPolicy(text, p) }

func (p TwoRateMarker) text() string {
	return "two-rate-marker" + partsText([]Policy{p.Committed, p.Peak})
}

func readTwoRateMarker(r *textReader) Policy {
	start := r.at
	parts := r.parts()
	if r.err != nil {
		return nil
	}
	if len(parts) == 2 {
		committed, ok := parts[0].(TokenBucket)
		peak, too := parts[1].(TokenBucket)
		if ok && too {
			return TwoRateMarker{committed, peak}
		}
	}
	r.failAt(start, r.text[start:r.last], "must be two token-buckets, committed and peak")
	return nil
}
