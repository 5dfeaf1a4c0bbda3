package change

// fails plays a trial, and returns the first rule that it breaks.
func (s *Suite) fails(t *Trial) (*violation, []answer) {
	if t.Bubble {
		return s.bubble(t)
	}
	w := newWorld(t, s, &hand{t.Start})
	v := w.play()
	if v == nil && !s.NoTwins {
		v = s.askTwins(t, w.answers)
	}
	return v, w.answers
}

// shrink drops steps, and makes numbers smaller, while the trial still breaks the same rule.
func (s *Suite) shrink(t *Trial, v *violation) (*Trial, *violation, []answer) {
	try := func(u *Trial) bool {
		w, _ := s.fails(u)
		if w == nil || w.rule != v.rule {
			return false
		}
		t, v = u, w
		return true
	}
	for again, tries := true, 0; again && tries < 3000; {
		again = false
		for n := len(t.Steps); n > 0; n /= 2 {
			for from := 0; from+n <= len(t.Steps); {
				u := *t
				u.Steps = append(append([]Step(nil), t.Steps[:from]...), t.Steps[from+n:]...)
				tries++
				if try(&u) {
					again = true
				} else {
					from++
				}
			}
		}
		for i := range t.Steps {
			for _, smaller := range []func(*Step) bool{
				func(s *Step) bool { s.Key = 0; return true },
				func(s *Step) bool { s.Ended = false; return true },
				func(s *Step) bool { s.By = t.Steps[max(i-1, 0)].By; return true },
				func(s *Step) bool { s.Hurry = false; return true },
				func(s *Step) bool { s.D = -1; return s.Op == opReserve || s.Op == opWait },
				func(s *Step) bool { s.N = 1; return s.Op != opSettle && s.Op != opAllBack },
				func(s *Step) bool { s.N /= 2; return s.N > 0 },
				func(s *Step) bool { s.N--; return s.N > 0 },
			} {
				u := *t
				u.Steps = append([]Step(nil), t.Steps...)
				if smaller(&u.Steps[i]) && u.Steps[i] != t.Steps[i] {
					tries++
					again = try(&u) || again
				}
			}
			if i >= len(t.Steps) || tries > 3000 {
				break
			}
		}
	}
	_, answers := s.fails(t)
	return t, v, answers
}
