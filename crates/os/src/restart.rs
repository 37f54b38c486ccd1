//! A program that starts itself anew when it crashes: by [`crate::abort`], or by touching memory
//! that it may not. The new program has the old one's process number, arguments and environment,
//! and none of its files, threads and memory.

use std::ffi::{CString, OsString, c_char, c_int};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Set for a program that was started after a crash.
const MARK: &str = "POSTGRES_RESTARTED_AFTER_CRASH";

/// What a crash needs, made beforehand: a signal's handler may not allocate.
struct Plan {
    program: CString,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
}

static PLAN: AtomicPtr<Plan> = AtomicPtr::new(ptr::null_mut());
static ARMED: AtomicBool = AtomicBool::new(false);

/// Pointers to copies of these that stay for ever, and the null that ends them.
fn pointers(texts: impl Iterator<Item = OsString>) -> Vec<*const c_char> {
    let texts = texts.filter_map(|t| CString::new(t.into_vec()).ok());
    texts.map(|t| t.into_raw().cast_const()).chain([ptr::null()]).collect()
}

/// True if this program was started because the one before crashed.
pub fn is_after_crash() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Notes how the program was started. To be called once, before the command line is overwritten.
pub fn prepare() {
    let Ok(program) = std::env::current_exe() else { return };
    let Ok(program) = CString::new(program.as_os_str().as_bytes()) else { return };
    let others = std::env::vars_os().filter(|(name, _)| name != MARK);
    let entry = |(mut name, value): (OsString, OsString)| {
        name.push("=");
        name.push(value);
        name
    };
    let mark = (OsString::from(MARK), OsString::from("1"));
    let environment = pointers(others.chain([mark]).map(entry));
    let plan = Plan { program, arguments: pointers(std::env::args_os()), environment };
    PLAN.store(Box::into_raw(Box::new(plan)), Ordering::Release);
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: a structure of plain numbers, for which zeros are valid; it lives through the
        // calls, and the handler only does what handlers may.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = crashed as extern "C" fn(c_int) as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND | libc::SA_NODEFER;
            libc::sigaction(signal, &action, ptr::null_mut());
        }
    }
}

/// From now on a crash starts the program anew, or not.
pub fn arm(yes: bool) {
    ARMED.store(yes, Ordering::Release);
}

/// Comes back if the program is not to be started anew.
pub(crate) fn run() {
    let plan = PLAN.load(Ordering::Acquire);
    // Who comes second waits for the first one's new program, which ends all threads.
    if plan.is_null() || !ARMED.swap(false, Ordering::AcqRel) {
        return;
    }
    say("LOG:  all server processes terminated; reinitializing\n");
    // SAFETY: the plan is never freed, and its lists of strings end with null.
    unsafe {
        let plan = &*plan;
        libc::execve(plan.program.as_ptr(), plan.arguments.as_ptr(), plan.environment.as_ptr());
    }
}

fn say(text: &str) {
    // SAFETY: the bounds of a static text.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

extern "C" fn crashed(signal: c_int) {
    say("LOG:  server process was terminated by a segmentation fault\n");
    run();
    // SAFETY: takes no pointers. The default action is back.
    unsafe { libc::raise(signal) };
}
