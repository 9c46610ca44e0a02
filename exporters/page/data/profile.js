// The profile as the page has it: columns of numbers, one typed array each, and handles into them.
//
// Times and weights are nanoseconds, times since the session's start. A handle that stands for
// nothing is -1 in signed columns. Whoever derives something from a profile leaves it unchanged.

/**
 * @typedef {object} Meta
 * @property {string} program
 * @property {string} command
 * @property {string} startTime ISO 8601
 * @property {number} durationNs
 * @property {"cpu"|"wall"} clock wall: waiting threads were sampled too
 * @property {string} unit what weights count, in thousandths: "cycles"; "" for time
 * @property {boolean} imported from another program's file
 * @property {boolean} hasTimes false: samples have none
 * @property {number|null} cpus of the machine; null: not known, or of several
 * @property {number} rateHz what was asked for
 * @property {string} rates which rates held, as a sentence
 * @property {number} lowestRateHz of them
 * @property {string} cost of sampling, as a sentence; "" where it is not known
 * @property {number} achievedRateHz per second of CPU
 * @property {number|null} cpuNs as the kernel accounted it; null of what is imported, of the heap and of locks
 * @property {number} sampledCpuNs what samples carry of it
 * @property {number} samples of the recording; `notes` says when the page has some of them as one
 * @property {number} completeStacks 0..1
 * @property {Object<string, number>} lost samples, by reason
 * @property {string[]} notes what the person must know about the data
 * @property {null|{a: string, b: string}} diff labels of the two sides of a comparison
 * @property {{shown: SampleType, first: SampleType, all: SampleType[], waits: boolean}} [sampleTypes] of a page with several:
 *   that of this profile, that which the page shows at first, and all; waits: samples of "cpu" wait
 * @typedef {"cpu"|"live"|"allocated"|"locks"} SampleType what samples are: of CPU and waiting, blocks of the heap, waits for locks
 */

/**
 * @typedef {object} Module
 * @property {string} name its file's name
 * @property {string} path
 */

/**
 * Functions, one row each.
 * @typedef {object} Functions
 * @property {number} count
 * @property {Uint32Array} name string
 * @property {Uint32Array} file string: of its definition; "" unknown
 * @property {Uint32Array} line of its definition; 0 unknown
 * @property {Int32Array} module -1 none
 * @property {Uint8Array} wait 1: stands for a wait, "[read pipe]"
 * @property {Uint8Array} python 1: of Python, which an interpreter runs
 */

/**
 * Frames in their stacks: a row is the stack that ends in this frame. Inlined functions are frames
 * of their own. A prefix comes before those that continue it.
 * @typedef {object} Stacks
 * @property {number} count
 * @property {Int32Array} prefix the caller's row; -1 at the thread's root
 * @property {Uint32Array} func
 * @property {Uint32Array} line where the frame was executing, in its source; 0 unknown
 * @property {Uint8Array} inlined 1: into its caller
 */

/**
 * @typedef {object} Process
 * @property {number} pid
 * @property {number} parent pid
 * @property {string} name
 * @property {string} [label] of the recording that it is from, in a merged one
 * @property {string} exit "status 0", "signal 11"; "" unknown
 */

/**
 * @typedef {object} Thread
 * @property {number} process index
 * @property {number} tid
 * @property {string} name
 * @property {string} pool its name without the number at the end
 * @property {boolean} isMain
 * @property {number} cpuNs as the kernel accounted it
 * @property {number} sampledCpuNs what its samples on CPU weigh
 * @property {number} waitNs what its waiting samples weigh
 * @property {number} startNs
 * @property {number} endNs
 * @property {0|1} side of a comparison
 */

/**
 * Samples, by thread and then by time.
 * @typedef {object} Samples
 * @property {number} count
 * @property {Uint32Array} ofThread one more than threads: those of thread t are [ofThread[t], ofThread[t + 1])
 * @property {Float64Array} timeNs when it was taken: at the end of what it weighs. The first, if there are several
 * @property {Float64Array} weightNs of CPU, or of waiting
 * @property {Int32Array} stack -1: nothing known
 * @property {Uint8Array} waiting 1: was not on CPU
 * @property {Uint32Array} taken samples of the recording that it stands for: 1, but in large ones
 * @property {Uint32Array} [side] of waits for locks: row of `lockSides`
 * @property {Float64Array} [waits] how many waits it stands for
 * @property {Float64Array} [longestNs] the longest of those that were recorded
 */

/**
 * The markers of the program. Names and texts are handles into `texts`, the first of which is
 * "". Spans and events are by thread and then by time, counters by process and name, and time.
 * `closed`: 0 by the program, 1 by the end of its thread, 2 of its process.
 * @typedef {object} Markers
 * @property {string[]} texts
 * @property {{count: number, thread: Int32Array, endThread: Int32Array, beginNs: Float64Array,
 *   durationNs: Float64Array, name: Uint32Array, text: Uint32Array, parent: Int32Array,
 *   across: Uint8Array, closed: Uint8Array}} spans parent: a row, -1 none; across: of threads, by id
 * @property {{count: number, process: Int32Array, thread: Int32Array, beginNs: Float64Array,
 *   durationNs: Float64Array, name: Uint32Array, closed: Uint8Array}} sections thread: -1 all
 * @property {{count: number, thread: Int32Array, timeNs: Float64Array, name: Uint32Array,
 *   text: Uint32Array}} events
 * @property {{count: number, process: Int32Array, name: Uint32Array, timeNs: Float64Array,
 *   value: Float64Array}} counters what they stand at from that time on
 */

/**
 * @typedef {object} Profile
 * @property {Meta} meta
 * @property {string[]} strings
 * @property {Module[]} modules
 * @property {Functions} functions
 * @property {Stacks} stacks
 * @property {Process[]} processes
 * @property {Thread[]} threads by process, main first, then busiest first
 * @property {Samples} samples
 * @property {Markers} markers
 * @property {{kind: string, name: string, locks: number}[]} [locks] where samples are waits for locks: those of one variable, or
 *   one origin, are one row of so many
 * @property {{lock: number, waiter?: string, holder?: string, waker?: string}[]} [lockSides] a row of `locks`, and the functions
 *   that waited, held the lock and ended the wait
 */

export {};
