//! Decisions of the generator, recorded so that a case can be made again and made smaller.

/// A list of decisions: replayed as far as it goes, then drawn from a seed or all zero.
///
/// Zero is always the simplest answer, so a case with a shorter list, or smaller numbers in it,
/// is a simpler case.
pub struct Choices {
    made: Vec<u32>,
    position: usize,
    state: Option<u64>,
}

impl Choices {
    /// Drawn from a seed.
    pub fn seeded(seed: u64) -> Choices {
        Choices { made: Vec::new(), position: 0, state: Some(seed) }
    }

    /// Those of an earlier run; what is asked beyond them is zero.
    pub fn replayed(made: Vec<u32>) -> Choices {
        Choices { made, position: 0, state: None }
    }

    /// What has been asked so far.
    pub fn into_made(mut self) -> Vec<u32> {
        self.made.truncate(self.position);
        self.made
    }

    /// How many decisions have been asked for.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Gives the decisions from a position on once more.
    pub fn rewind(&mut self, position: usize) {
        self.position = position;
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n.max(1) as u32;
        if self.position == self.made.len() {
            let drawn = self.state.as_mut().map_or(0, |s| (split_mix(s) >> 33) as u32 % n);
            self.made.push(drawn);
        }
        let chosen = self.made[self.position] % n;
        self.position += 1;
        chosen as usize
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        // The larger answer is the rare one: false is the simpler case.
        self.below(n) == n - 1
    }

    /// One of a list.
    pub fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Makes a list of decisions smaller for as long as `fails` holds of it, within `budget` trials.
pub fn shrink(made: Vec<u32>, budget: usize, fails: &mut dyn FnMut(&[u32]) -> bool) -> Vec<u32> {
    let mut best = made;
    let mut left = budget;
    let mut width = best.len().max(1) / 2;
    while width >= 1 && left > 0 {
        let mut at = 0;
        let mut smaller = false;
        while at < best.len() && left > 0 {
            let end = (at + width).min(best.len());
            let mut without = best.clone();
            without.drain(at..end);
            let mut zeroed = best.clone();
            zeroed[at..end].fill(0);
            let tries = [without, zeroed];
            let found = tries.into_iter().filter(|t| *t != best).find(|t| {
                left = left.saturating_sub(1);
                fails(t)
            });
            match found {
                Some(t) => {
                    smaller = true;
                    best = t;
                }
                None => at = end,
            }
        }
        if !smaller || width > 1 {
            width /= 2;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_decides_the_same() {
        let draw = || {
            let mut c = Choices::seeded(7);
            let drawn: Vec<usize> = (0..20).map(|_| c.below(10)).collect();
            (drawn, c.into_made())
        };
        let (drawn, made) = draw();
        assert_eq!(draw(), (drawn.clone(), made.clone()));
        let mut again = Choices::replayed(made);
        assert_eq!(drawn, (0..20).map(|_| again.below(10)).collect::<Vec<_>>());
        assert_eq!(again.below(5), 0);
    }

    #[test]
    fn shrinking_keeps_what_matters() {
        let made = vec![3, 1, 9, 4, 4, 7, 2];
        let small = shrink(made, 200, &mut |m| m.contains(&9));
        assert_eq!(small, [9]);
    }
}
