//! The fit: a factor for each item of the bills, such that the true explanations become as likely as can be.
//!
//! An explanation costs the sum of its items, and its probability is its share of e to the power of minus the cost. That
//! is a conditional logit with the nats paid for each item as features. All factors are 1 where nothing is learned.

use dgt2mqtt::board::Item;

use crate::moments::weights;

const ITEMS: usize = Item::ALL.len();

/// Steps of the climb; it ends sooner as a rule.
const STEPS: usize = 200;
/// A step that gains less, in nats, is the last.
const GAIN: f64 = 1e-3;
/// A truth that is less likely than this counts as no less.
const LEAST: f64 = 1e-9;
/// An explanation has paid for an item from so many nats on.
const PAID: f32 = 0.05;

/// One explanation that was weighed, and whether it is true.
pub(crate) struct Rival {
    paid: [f32; ITEMS],
    pub(crate) is_true: bool,
}

impl Rival {
    pub(crate) fn new(items: &[(Item, f32)], is_true: bool) -> Self {
        let mut paid = [0.0; ITEMS];
        for (item, nats) in items {
            paid[*item as usize] = *nats;
        }
        Self { paid, is_true }
    }

    fn cost(&self, factors: &Factors) -> f64 {
        let each = self.paid.iter().zip(factors);
        each.map(|(nats, factor)| f64::from(*nats) * factor).sum()
    }
}

/// The explanations at one moment: some true, some not.
pub(crate) struct Moment(pub(crate) Vec<Rival>);

type Factors = [f64; ITEMS];

/// What one moment says of the factors.
struct Lesson {
    slope: Factors,
    /// How sharply it bends: the variance of what is paid.
    bend: Factors,
}

impl Moment {
    fn shares(&self, factors: &Factors) -> Vec<f64> {
        let costs: Vec<f64> = self.0.iter().map(|rival| rival.cost(factors)).collect();
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let each: Vec<f64> = costs.into_iter().map(|cost| (least - cost).exp()).collect();
        let sum: f64 = each.iter().sum();
        each.into_iter().map(|part| part / sum).collect()
    }

    /// What it says of those factors that are `free`.
    fn lesson(&self, factors: &Factors, free: &[usize]) -> Lesson {
        let shares = self.shares(factors);
        let rivals = || self.0.iter().zip(&shares);
        let truly: f64 = rivals().filter(|(rival, _)| rival.is_true).map(|(_, p)| p).sum();
        let truly = truly.max(LEAST);
        let mut lesson = Lesson {
            slope: [0.0; ITEMS],
            bend: [0.0; ITEMS],
        };
        for &item in free {
            let (mut all, mut squares, mut truth) = (0.0, 0.0, 0.0);
            for (rival, p) in rivals() {
                let nats = f64::from(rival.paid[item]);
                all += p * nats;
                squares += p * nats * nats;
                truth += if rival.is_true { p * nats / truly } else { 0.0 };
            }
            lesson.slope[item] = all - truth;
            lesson.bend[item] = squares - all * all;
        }
        lesson
    }
}

/// Logarithm of the likelihood of the truth at all moments.
fn likelihood(moments: &[Moment], factors: &Factors) -> f64 {
    let truly = |moment: &Moment| {
        let shares = moment.shares(factors);
        let trues = moment.0.iter().zip(shares).filter(|(rival, _)| rival.is_true);
        trues.map(|(_, p)| p).sum::<f64>().max(LEAST).ln()
    };
    moments.iter().map(truly).sum()
}

/// How often an item was paid.
#[derive(Clone, Copy, Default)]
struct Paid {
    truth: usize,
    rival: usize,
}

/// What the fit found.
pub(crate) struct Fitted {
    factors: Factors,
    /// How far each factor may be off.
    errors: Factors,
    /// Each factor where all others stay 1.
    alone: Factors,
    paid: [Paid; ITEMS],
}

/// The factors that are learned: what all have paid alike tells nothing.
fn learned() -> Vec<usize> {
    let tells = Item::ALL.into_iter().filter(|item| *item != Item::Shared);
    tells.map(|item| item as usize).collect()
}

/// Those factors that are `free` climb to where `moments` are likeliest, each held to 1 as if by `tether` moments.
fn climb(moments: &[Moment], tether: f64, free: &[usize]) -> Factors {
    let held = |factors: &Factors| {
        let away: f64 = factors.iter().map(|factor| (factor - 1.0).powi(2)).sum();
        likelihood(moments, factors) - 0.5 * tether * away
    };
    let mut factors = [1.0; ITEMS];
    let mut height = held(&factors);
    for _ in 0..STEPS {
        let Lesson { slope, bend } = lessons(moments, &factors, tether, free);
        // A full step is as for items that have nothing to do with each other; it is halved until it climbs.
        let tried = (0..12).map(|halves| {
            let mut next = factors;
            for &item in free {
                let step = 0.5_f64.powi(halves) * slope[item] / bend[item];
                next[item] = (factors[item] + step).max(0.0);
            }
            (held(&next), next)
        });
        let Some((reached, next)) = tried.into_iter().find(|(reached, _)| *reached > height) else {
            break;
        };
        let gain = reached - height;
        (factors, height) = (next, reached);
        if gain < GAIN {
            break;
        }
    }
    factors
}

impl Fitted {
    /// The factors that fit `moments` best.
    pub(crate) fn on(moments: &[Moment], tether: f64) -> Self {
        let free = learned();
        let factors = climb(moments, tether, &free);
        let mut alone = [1.0; ITEMS];
        for &item in &free {
            alone[item] = climb(moments, tether, &[item])[item];
        }
        let bend = lessons(moments, &factors, tether, &free).bend;
        Self {
            factors,
            errors: bend.map(|bend| 1.0 / bend.sqrt()),
            alone,
            paid: count(moments),
        }
    }

    /// How likely the truth is at `moments`, with all factors at 1 and as fitted.
    pub(crate) fn row(&self, name: &str, moments: &[Moment]) -> String {
        let each = |factors: &Factors| likelihood(moments, factors) / moments.len().max(1) as f64;
        let (before, after) = (each(&[1.0; ITEMS]), each(&self.factors));
        format!("| {name} | {} | {before:.5} | {after:.5} |", moments.len())
    }
}

/// Where it goes up, and how sharply it bends, of all moments together.
fn lessons(moments: &[Moment], factors: &Factors, tether: f64, free: &[usize]) -> Lesson {
    let mut sum = Lesson {
        slope: factors.map(|factor| tether * (1.0 - factor)),
        bend: [tether.max(1e-6); ITEMS],
    };
    for lesson in moments.iter().map(|moment| moment.lesson(factors, free)) {
        for &item in free {
            sum.slope[item] += lesson.slope[item];
            sum.bend[item] += lesson.bend[item];
        }
    }
    sum
}

/// At how many moments the likeliest true explanation and the likeliest false one have paid for each item, where they
/// did not pay the same.
fn count(moments: &[Moment]) -> [Paid; ITEMS] {
    let mut paid = [Paid::default(); ITEMS];
    let ones = [1.0; ITEMS];
    for moment in moments {
        let likeliest = |truly: bool| {
            let same = moment.0.iter().filter(|rival| rival.is_true == truly);
            same.min_by(|a, b| a.cost(&ones).total_cmp(&b.cost(&ones)))
        };
        let (Some(truth), Some(rival)) = (likeliest(true), likeliest(false)) else {
            continue;
        };
        for (sum, (truly, falsely)) in paid.iter_mut().zip(truth.paid.iter().zip(&rival.paid)) {
            sum.truth += usize::from(truly - falsely > PAID);
            sum.rival += usize::from(falsely - truly > PAID);
        }
    }
    paid
}

impl Fitted {
    /// The factors, and by how much each alone makes the truth likelier at moments that it was not fitted on.
    pub(crate) fn table(&self, seeds: &[Moment], kinds: &[Moment]) -> String {
        let mut table =
            "| item | weights | factor | ± | alone | gains on seeds | on kinds | truth paid more | best \
                         rival paid more |\n|---|---|---|---|---|---|---|---|---|\n"
                .to_owned();
        let ones = [1.0; ITEMS];
        let (on_seeds, on_kinds) = (likelihood(seeds, &ones), likelihood(kinds, &ones));
        for item in Item::ALL.into_iter().filter(|item| *item != Item::Shared) {
            let (at, paid) = (item as usize, self.paid[item as usize]);
            let mut alone = ones;
            alone[at] = self.alone[at];
            table += &format!(
                "| {} | {} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {} | {} |\n",
                item.words(),
                weights(item),
                self.factors[at],
                self.errors[at],
                self.alone[at],
                likelihood(seeds, &alone) - on_seeds,
                likelihood(kinds, &alone) - on_kinds,
                paid.truth,
                paid.rival
            );
        }
        table
    }
}
