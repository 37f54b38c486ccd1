//! Which aggregate has which state.

use super::collect::{Arrays, Common, Joined, JsonText, JsonbTree, Union, Values, XmlParts};
use super::extreme::{Best, BestBytes, BestOf, BestText, Fold};
use super::ordered::{Ordered, Rows};
use super::state::{Count, MadeOf, State, Typed, TypedBytes};
use super::statistics::{ExactMoments, FloatMoments, Moment, Pairs, Regression};
use super::sum::{IntResult, SumFloat, SumInt, SumInterval, SumNumeric};
use super::{AggFactory, GroupedAgg};
use base::{Oid, Result};
use std::cmp::Ordering::{self, Greater, Less};
use types::datetime::Interval;
use types::net::Inet;
use types::{Datum, bits, compare, numeric};

type Made = Result<Box<dyn GroupedAgg>>;

fn rows<S: State>(empty: S, strict: bool) -> Made {
    Ok(Box::new(MadeOf::new(empty, strict)))
}

fn interval_order(a: &[u8], b: &[u8]) -> Ordering {
    Interval::decode(a).compare(&Interval::decode(b))
}

fn inet_order(a: &[u8], b: &[u8]) -> Ordering {
    Inet::decode(a).compare(&Inet::decode(b))
}

fn tid_order(a: &[u8], b: &[u8]) -> Ordering {
    let key = |t: &[u8]| match t {
        [a, b, c, d, e, f, ..] => {
            (u32::from_le_bytes([*a, *b, *c, *d]), u16::from_le_bytes([*e, *f]))
        }
        _ => (0, 0),
    };
    key(a).cmp(&key(b))
}

fn best<T>(want: Ordering) -> Made
where
    T: super::extreme::Extreme + for<'a> crate::kernel::ArgType<'a>,
{
    Ok(Box::new(Typed::<T, Best<T>>::new(Best::new(want))))
}

/// Text by the call's collation.
fn best_text(call: &crate::CallInfo, want: Ordering) -> Made {
    match call.collation.0 {
        0 | 100 | 950 | 951 => best_bytes(want, |a, b| a.cmp(b)),
        _ => {
            let collator = crate::collation::collator(call.collation)?;
            Ok(Box::new(MadeOf::new(BestText::new(want, collator), true)))
        }
    }
}

fn best_bytes(want: Ordering, order: fn(&[u8], &[u8]) -> Ordering) -> Made {
    Ok(Box::new(TypedBytes::new(BestBytes::new(want, order))))
}

fn best_bpchar(want: Ordering) -> Made {
    let best = BestBytes::new(want, compare::compare_bpchar).first_of();
    Ok(Box::new(TypedBytes::new(best)))
}

fn ints(f: fn(i64, i64) -> i64) -> impl Fn(&Datum, &Datum) -> Result<Datum> {
    move |a, b| {
        let n = f(a.to_i64(), b.to_i64());
        Ok(match a {
            Datum::I16(_) => Datum::I16(n as i16),
            Datum::I32(_) => Datum::I32(n as i32),
            _ => Datum::I64(n),
        })
    }
}

fn and(a: &Datum, b: &Datum) -> Result<Datum> {
    ints(|x, y| x & y)(a, b)
}

fn or(a: &Datum, b: &Datum) -> Result<Datum> {
    ints(|x, y| x | y)(a, b)
}

fn xor(a: &Datum, b: &Datum) -> Result<Datum> {
    ints(|x, y| x ^ y)(a, b)
}

fn bit_op(a: &Datum, b: &Datum, f: fn(u8, u8) -> u8, name: &str) -> Result<Datum> {
    let (x, y) = (a.as_bytes(), b.as_bytes());
    if bits::bit_len(x) != bits::bit_len(y) {
        base::bail!(STRING_DATA_LENGTH_MISMATCH, "cannot {name} bit strings of different sizes");
    }
    let mut out = x.to_vec();
    for (o, v) in out.iter_mut().zip(y).skip(4) {
        *o = f(*o, *v);
    }
    Ok(Datum::bytes(out))
}

fn cash(a: &Datum, b: &Datum) -> Result<Datum> {
    a.as_i64()
        .checked_add(b.as_i64())
        .map(Datum::I64)
        .ok_or_else(|| base::err!(NUMERIC_VALUE_OUT_OF_RANGE, "money out of range"))
}

/// The state of an aggregate by its function's OID.
pub(super) fn factory(oid: Oid) -> Option<AggFactory> {
    by_number(oid.0).or_else(|| extremes(oid.0)).or_else(|| statistics(oid.0))
}

fn by_number(oid: u32) -> Option<AggFactory> {
    Some(match oid {
        2147 | 2803 => |_| Ok(Box::new(Count::default())),
        2109 => |_| Ok(Box::new(Typed::<i16, SumInt>::new(SumInt::new(IntResult::I64)))),
        2108 => |_| Ok(Box::new(Typed::<i32, SumInt>::new(SumInt::new(IntResult::I64)))),
        2107 => |_| Ok(Box::new(Typed::<i64, SumInt>::new(SumInt::new(IntResult::Numeric)))),
        2102 => |_| Ok(Box::new(Typed::<i16, SumInt>::new(SumInt::new(IntResult::Average)))),
        2101 => |_| Ok(Box::new(Typed::<i32, SumInt>::new(SumInt::new(IntResult::Average)))),
        2100 => |_| Ok(Box::new(Typed::<i64, SumInt>::new(SumInt::new(IntResult::Average)))),
        2110 => |_| Ok(Box::new(Typed::<f32, SumFloat<f32>>::new(SumFloat::default()))),
        2111 => |_| Ok(Box::new(Typed::<f64, SumFloat<f64>>::new(SumFloat::default()))),
        2114 => |_| Ok(Box::new(TypedBytes::new(SumNumeric::new(false)))),
        2103 => |_| Ok(Box::new(TypedBytes::new(SumNumeric::new(true)))),
        2113 => |_| rows(SumInterval::new(false), true),
        2106 => |_| rows(SumInterval::new(true), true),
        2112 => |_| rows(Fold::new(cash), true),
        2236 | 2238 | 2240 => |_| rows(Fold::new(and), true),
        2237 | 2239 | 2241 => |_| rows(Fold::new(or), true),
        6164..=6166 => |_| rows(Fold::new(xor), true),
        2242 => |_| rows(Fold::new(|a, b| bit_op(a, b, |x, y| x & y, "AND")), true),
        2243 => |_| rows(Fold::new(|a, b| bit_op(a, b, |x, y| x | y, "OR")), true),
        6167 => |_| rows(Fold::new(|a, b| bit_op(a, b, |x, y| x ^ y, "XOR")), true),
        2517 | 2519 => {
            |_| rows(Fold::new(|a, b| Ok(Datum::Bool(a.as_bool() && b.as_bool()))), true)
        }
        2518 => |_| rows(Fold::new(|a, b| Ok(Datum::Bool(a.as_bool() || b.as_bool()))), true),
        6291 => |_| rows(Fold::new(|a, _| Ok(a.clone())), true),
        2901 => |_| rows(XmlParts::default(), false),
        3538 | 3545 => |_| rows(Joined::default(), false),
        4301 | 6227 => |_| rows(Union::default(), false),
        4389 | 4450 => |_| rows(Common::default(), true),
        2335 => |_| rows(Values::default(), false),
        4053 => |_| rows(Arrays::default(), false),
        3175 => |_| rows(JsonText::new(false, false, false), false),
        6276 => |_| rows(JsonText::new(false, true, false), false),
        3197 => |_| rows(JsonText::new(true, false, false), false),
        6280 => |_| rows(JsonText::new(true, true, false), false),
        6281 => |_| rows(JsonText::new(true, false, true), false),
        6282 => |_| rows(JsonText::new(true, true, true), false),
        3267 => |_| rows(JsonbTree::new(false, false, false), false),
        6284 => |_| rows(JsonbTree::new(false, true, false), false),
        3270 => |_| rows(JsonbTree::new(true, false, false), false),
        6288 => |_| rows(JsonbTree::new(true, true, false), false),
        6289 => |_| rows(JsonbTree::new(true, false, true), false),
        6290 => |_| rows(JsonbTree::new(true, true, true), false),
        3972 => |_| rows(Rows::new(Ordered::Disc), false),
        3978 => |_| rows(Rows::new(Ordered::DiscMany), false),
        3974 => |_| rows(Rows::new(Ordered::ContFloat), false),
        3980 => |_| rows(Rows::new(Ordered::ContFloatMany), false),
        3976 => |_| rows(Rows::new(Ordered::ContInterval), false),
        3982 => |_| rows(Rows::new(Ordered::ContIntervalMany), false),
        3984 => |_| rows(Rows::new(Ordered::Mode), false),
        3986 => |_| rows(Rows::new(Ordered::Rank), false),
        3988 => |_| rows(Rows::new(Ordered::PercentRank), false),
        3990 => |_| rows(Rows::new(Ordered::CumeDist), false),
        3992 => |_| rows(Rows::new(Ordered::DenseRank), false),
        _ => return None,
    })
}

fn extremes(oid: u32) -> Option<AggFactory> {
    Some(match oid {
        2117 => |_| best::<i16>(Greater),
        2116 | 2122 => |_| best::<i32>(Greater),
        2115 | 2123 | 2125 | 2126 | 2127 => |_| best::<i64>(Greater),
        2118 => |_| best::<u32>(Greater),
        2119 => |_| best::<f32>(Greater),
        2120 => |_| best::<f64>(Greater),
        2133 => |_| best::<i16>(Less),
        2132 | 2138 => |_| best::<i32>(Less),
        2131 | 2139 | 2141 | 2142 | 2143 => |_| best::<i64>(Less),
        2134 => |_| best::<u32>(Less),
        2135 => |_| best::<f32>(Less),
        2136 => |_| best::<f64>(Less),
        2129 => |call| best_text(call, Greater),
        2145 => |call| best_text(call, Less),
        6395 => |_| best_bytes(Greater, |a, b| a.cmp(b)),
        6396 => |_| best_bytes(Less, |a, b| a.cmp(b)),
        2130 => |_| best_bytes(Greater, numeric::compare),
        2146 => |_| best_bytes(Less, numeric::compare),
        2244 => |_| best_bpchar(Greater),
        2245 => |_| best_bpchar(Less),
        2124 => |_| best_bytes(Greater, compare::compare_timetz),
        2140 => |_| best_bytes(Less, compare::compare_timetz),
        2128 => |_| best_bytes(Greater, interval_order),
        2144 => |_| best_bytes(Less, interval_order),
        3564 => |_| best_bytes(Greater, inet_order),
        3565 => |_| best_bytes(Less, inet_order),
        2797 => |_| best_bytes(Greater, tid_order),
        2798 => |_| best_bytes(Less, tid_order),
        2050 | 6373 | 3526 | 4189 | 5099 => |_| rows(BestOf::new(Greater), true),
        2051 | 6374 | 3527 | 4190 | 5100 => |_| rows(BestOf::new(Less), true),
        _ => return None,
    })
}

fn statistics(oid: u32) -> Option<AggFactory> {
    macro_rules! float {
        ($t:ty, $m:ident) => {
            |_| Ok(Box::new(Typed::<$t, FloatMoments>::new(FloatMoments::new(Moment::$m))))
        };
    }
    macro_rules! exact {
        ($m:ident) => {
            |_| rows(ExactMoments::new(Moment::$m), true)
        };
    }
    macro_rules! numeric {
        ($m:ident) => {
            |_| Ok(Box::new(TypedBytes::new(ExactMoments::new(Moment::$m))))
        };
    }
    macro_rules! pairs {
        ($r:ident) => {
            |_| rows(Pairs::new(Regression::$r), true)
        };
    }
    Some(match oid {
        2104 => float!(f32, Average),
        2105 => float!(f64, Average),
        2721 => float!(f32, VarPop),
        2722 => float!(f64, VarPop),
        2644 | 2151 => float!(f32, VarSamp),
        2645 | 2152 => float!(f64, VarSamp),
        2727 => float!(f32, StddevPop),
        2728 => float!(f64, StddevPop),
        2715 | 2157 => float!(f32, StddevSamp),
        2716 | 2158 => float!(f64, StddevSamp),
        2723 => numeric!(VarPop),
        2646 | 2153 => numeric!(VarSamp),
        2729 => numeric!(StddevPop),
        2717 | 2159 => numeric!(StddevSamp),
        2718..=2720 => exact!(VarPop),
        2641 | 2642 | 2643 | 2148 | 2149 | 2150 => exact!(VarSamp),
        2724..=2726 => exact!(StddevPop),
        2712 | 2713 | 2714 | 2154 | 2155 | 2156 => exact!(StddevSamp),
        2818 => |_| rows(CountPairs(0), true),
        2819 => pairs!(Sxx),
        2820 => pairs!(Syy),
        2821 => pairs!(Sxy),
        2822 => pairs!(AvgX),
        2823 => pairs!(AvgY),
        2824 => pairs!(R2),
        2825 => pairs!(Slope),
        2826 => pairs!(Intercept),
        2827 => pairs!(CovarPop),
        2828 => pairs!(CovarSamp),
        2829 => pairs!(Corr),
        _ => return None,
    })
}

#[derive(Clone)]
struct CountPairs(i64);

impl State for CountPairs {
    fn step(&mut self, _: &mut crate::FnCtx, _: &[Datum]) -> Result<()> {
        self.0 += 1;
        Ok(())
    }
    fn finish(&self, _: &mut crate::FnCtx) -> Result<Datum> {
        Ok(Datum::I64(self.0))
    }
    fn save(&self) -> Vec<Datum> {
        vec![Datum::I64(self.0)]
    }
    fn merge(&mut self, _: &mut crate::FnCtx, saved: &[Datum]) -> Result<()> {
        self.0 += saved[0].as_i64();
        Ok(())
    }
}
