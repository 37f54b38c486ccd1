//! Read streams: pages in the order that somebody will want them, read ahead of that.
//!
//! Reading ahead goes to memory of the stream's own; a page enters the pool when its turn comes.
//! So a stream that waits for something else holds no latch, no half-loaded frame and no pin on
//! pages ahead, and cannot take part in a deadlock. A copy that went stale meanwhile (the page
//! came to the pool, changed, was written and left) is noticed by its map entry, see `map`.

use crate::frame::Pin;
use crate::map::ABSENT;
use crate::page::Page;
use crate::relation::RelFiles;
use crate::replace::Ring;
use crate::segment::SEGMENT_BLOCKS;
use base::{BlockNo, Fork, PAGE_SIZE, Result};
use os::{AlignedBuf, Completion, IoQueue};
use std::collections::VecDeque;
use std::sync::Arc;

/// A stream of pinned pages. See `BufferPool::read_stream`.
pub struct ReadStream {
    rel: Arc<RelFiles>,
    fork: Fork,
    blocks: Box<dyn Iterator<Item = BlockNo> + Send>,
    ring: Option<Ring>,
    /// Blocks taken from the iterator and not given out, in order.
    ahead: VecDeque<Ahead>,
    /// Requests for the blocks in `ahead`, in order; the first has number `first_request`.
    requests: VecDeque<Request>,
    first_request: u64,
    queue: Option<IoQueue>,
    under_way: usize,
    /// How many blocks to look ahead: doubles with misses, shrinks with hits.
    distance: usize,
    exhausted: bool,
    spare: Vec<AlignedBuf>,
    done: Vec<Completion>,
}

/// Where a stream's next page lies in memory, to have parts of it fetched into the cache. It may
/// be another page by then: a wrong guess costs a cache line.
#[derive(Clone, Copy)]
pub struct Upcoming(*const u8);

impl Upcoming {
    /// No page.
    pub const NONE: Upcoming = Upcoming(std::ptr::null());

    /// Has the cache line at this offset of the page fetched.
    #[inline(always)]
    pub fn prefetch(self, at: usize) {
        os::memory::prefetch(self.0.wrapping_add(at));
    }

    /// Has the cache lines at the page's beginning fetched.
    #[inline]
    pub fn prefetch_head(self, bytes: usize) {
        (0..bytes).step_by(64).for_each(|at| self.prefetch(at));
    }
}

struct Ahead {
    block: u32,
    /// The request that reads it, the page within the request, and the map entry before.
    read: Option<(u64, u32, u32)>,
}

enum State {
    UnderWay,
    Done(AlignedBuf),
    /// The pages are read one by one instead, which tells the error.
    Failed,
}

struct Request {
    state: State,
    /// Blocks of it that are still in `ahead`.
    left: u32,
}

/// A run of neighbouring absent blocks being collected.
struct Run {
    first: u32,
    count: u32,
}

impl ReadStream {
    pub(crate) fn new(
        rel: Arc<RelFiles>,
        fork: Fork,
        blocks: Box<dyn Iterator<Item = BlockNo> + Send>,
        ring: Option<Ring>,
    ) -> ReadStream {
        ReadStream {
            rel,
            fork,
            blocks,
            ring,
            ahead: VecDeque::new(),
            requests: VecDeque::new(),
            first_request: 0,
            queue: None,
            under_way: 0,
            distance: 1,
            exhausted: false,
            spare: Vec::new(),
            done: Vec::new(),
        }
    }

    /// The page after the one given out last, if it is in memory.
    pub fn upcoming(&self) -> Upcoming {
        let Some(Ahead { block, read: None }) = self.ahead.front() else { return Upcoming::NONE };
        let entry = self.rel.fork(self.fork).map.get(*block);
        if entry & ABSENT != 0 {
            return Upcoming::NONE;
        }
        let frame = self.rel.pool().frames().get(entry as usize);
        frame.map_or(Upcoming::NONE, |f| Upcoming(f.page_ptr().cast_const().cast()))
    }

    /// The next page, pinned; `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Pin>> {
        self.look_ahead();
        let Some(ahead) = self.ahead.pop_front() else { return Ok(None) };
        let Some((request, at, seen)) = ahead.read else {
            return self.read_now(ahead.block).map(Some);
        };
        self.await_request(request);
        let result = self.take_page(ahead.block, request, at, seen);
        self.release(request);
        result.map(Some)
    }

    fn read_now(&mut self, block: u32) -> Result<Pin> {
        if self.rel.is_resident(self.fork, BlockNo(block)) {
            self.distance = (self.distance - 1).max(1);
        } else {
            self.distance = (self.distance * 2).min(self.most_ahead());
        }
        match &self.ring {
            Some(ring) => self.rel.read_in_ring(self.fork, BlockNo(block), ring),
            None => self.rel.read(self.fork, BlockNo(block)),
        }
    }

    fn most_ahead(&self) -> usize {
        let config = &self.rel.pool().config;
        let wanted = config.io_combine_limit.max(1) * config.io_concurrency.max(1);
        wanted.min(self.rel.pool().frames().len() / 4).max(1)
    }

    /// Takes blocks from the iterator and asks for those that are not in memory.
    fn look_ahead(&mut self) {
        // One more than is given out, so that there is an upcoming page.
        let distance = self.distance.max(2);
        if self.exhausted || self.ahead.len() * 2 > distance {
            return;
        }
        let reading = self.distance > 1;
        let mut run: Option<Run> = None;
        while self.ahead.len() < distance {
            let Some(BlockNo(block)) = self.blocks.next() else {
                self.exhausted = true;
                break;
            };
            let seen = self.rel.fork(self.fork).map.get(block);
            if !reading || seen & ABSENT == 0 {
                self.ahead.push_back(Ahead { block, read: None });
                continue;
            }
            if !run.as_mut().is_some_and(|run| self.joins(run, block)) {
                self.start(run.take());
                run = Some(Run { first: block, count: 1 });
            }
            let number = self.first_request + self.requests.len() as u64;
            let at = run.as_ref().map_or(0, |run| run.count - 1);
            self.ahead.push_back(Ahead { block, read: Some((number, at, seen)) });
        }
        self.start(run);
        if let Some(queue) = &mut self.queue {
            queue.submit();
        }
    }

    fn joins(&self, run: &mut Run, block: u32) -> bool {
        let limit = self.rel.pool().config.io_combine_limit.max(1) as u32;
        let joins = run.first.checked_add(run.count) == Some(block)
            && run.count < limit
            && !block.is_multiple_of(SEGMENT_BLOCKS);
        run.count += joins as u32;
        joins
    }

    fn start(&mut self, run: Option<Run>) {
        let Some(run) = run else { return };
        let pool = self.rel.pool();
        let len = run.count as usize * PAGE_SIZE;
        let state = match self.rel.fork(self.fork).segments.of_block(pool, run.first) {
            Ok(segment) => {
                let most = pool.config.io_combine_limit.max(1) * PAGE_SIZE;
                let buf = match self.spare.iter().position(|b| b.len() == len) {
                    Some(i) => self.spare.swap_remove(i),
                    None => AlignedBuf::zeroed(len.min(most)),
                };
                let method = pool.config.io_method;
                let queue = self.queue.get_or_insert_with(|| IoQueue::new(method));
                let offset = (run.first % SEGMENT_BLOCKS) as u64 * PAGE_SIZE as u64;
                let number = self.first_request + self.requests.len() as u64;
                queue.read(&segment.file, buf, offset, number);
                self.under_way += 1;
                State::UnderWay
            }
            Err(_) => State::Failed,
        };
        self.requests.push_back(Request { state, left: run.count });
    }

    fn request(&mut self, number: u64) -> &mut Request {
        &mut self.requests[(number - self.first_request) as usize]
    }

    fn await_request(&mut self, number: u64) {
        while matches!(self.request(number).state, State::UnderWay) {
            let Some(queue) = &mut self.queue else { return };
            queue.wait(1, &mut self.done);
            for completion in std::mem::take(&mut self.done) {
                self.under_way -= 1;
                let whole = completion.buf.as_ref().map_or(0, |b| b.len());
                let state = match (completion.result, completion.buf) {
                    (Ok(n), Some(buf)) if n == whole => State::Done(buf),
                    _ => State::Failed,
                };
                self.request(completion.token).state = state;
            }
        }
    }

    fn take_page(&mut self, block: u32, number: u64, at: u32, seen: u32) -> Result<Pin> {
        self.distance = (self.distance * 2).min(self.most_ahead());
        let at = at as usize * PAGE_SIZE;
        let (rel, fork) = (self.rel.clone(), self.fork);
        let index = (number - self.first_request) as usize;
        if let State::Done(buf) = &self.requests[index].state
            && rel.fork(fork).map.get(block) == seen
        {
            let page: &Page = match buf[at..at + PAGE_SIZE].try_into() {
                Ok(page) => page,
                Err(_) => unreachable!("the slice has the size of a page"),
            };
            if let Some(pin) = rel.install_copy(fork, block, seen, page, self.ring.as_ref())? {
                return Ok(pin);
            }
        }
        self.read_now(block)
    }

    /// One block of the request has been given out.
    fn release(&mut self, number: u64) {
        self.request(number).left -= 1;
        while let Some(first) = self.requests.front()
            && first.left == 0
        {
            if let Some(Request { state: State::Done(buf), .. }) = self.requests.pop_front()
                && self.spare.len() < 16
            {
                self.spare.push(buf);
            }
            self.first_request += 1;
        }
    }

    /// The relation that is read.
    pub fn rel(&self) -> &Arc<RelFiles> {
        &self.rel
    }
}
