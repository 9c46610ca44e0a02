// A Rust program that uses much of the standard library, for bench/same_names.py.
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque, BinaryHeap};
use std::fmt::Write;
use std::sync::{Arc, Mutex, mpsc};
fn words<T: std::str::FromStr + Ord + Clone>(text: &str) -> Vec<T> {
    let mut all: Vec<T> = text.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    all.sort(); all.dedup(); all
}
fn main() {
    let text: String = std::env::args().collect::<Vec<_>>().join(" ");
    let mut map: HashMap<String, Vec<i64>> = HashMap::new();
    for w in words::<i64>(&text) { map.entry(format!("{:x}", w)).or_default().push(w); }
    for w in words::<u16>(&text) { map.entry(format!("{:?}", w)).or_default().push(w as i64); }
    let tree: BTreeMap<String, usize> = map.iter().map(|(k, v)| (k.clone(), v.len())).collect();
    let set: HashSet<&str> = tree.keys().map(|k| k.as_str()).collect();
    let mut queue: VecDeque<_> = set.iter().copied().collect();
    let mut heap = BinaryHeap::new();
    while let Some(x) = queue.pop_front() { heap.push(x.len()); }
    let shared = Arc::new(Mutex::new(String::new()));
    let (tx, rx) = mpsc::channel();
    let handles: Vec<_> = (0..4).map(|i| { let s = shared.clone(); let tx = tx.clone();
        std::thread::spawn(move || { write!(s.lock().unwrap(), "{}", i).unwrap(); tx.send(i as f64).unwrap(); }) }).collect();
    drop(tx);
    for h in handles { h.join().unwrap(); }
    let mut floats: Vec<f64> = rx.iter().collect();
    floats.sort_by(|a, b| a.partial_cmp(b).unwrap());
    println!("{:?} {:?} {:?} {}", floats, heap.into_sorted_vec(), tree, shared.lock().unwrap());
    println!("{}", std::fs::read_to_string("/proc/self/status").unwrap_or_default().lines().count());
}
