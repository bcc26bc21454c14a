/**
 * logfleet as a user starts it: a process of its own. Tests wait for what it says, for its end, or for what it does to the
 * world; never for time to pass.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { compileCache } from '../../support/compile-cache.ts';

const launcher = fileURLToPath(new URL('../../../bin/logfleet.js', import.meta.url));

export interface Ended {
  /** The exit status; null for a process that a signal ended. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly cwd?: string;
  /** Variables beside those of this process, of which none that begins with `LOGFLEET_` is passed on. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starting costs a core most of a second: a few at once, or none of them gets anywhere. */
const startingAtOnce = 3;
let starting = 0;
const queue: (() => void)[] = [];

async function mayStart(): Promise<void> {
  if (starting >= startingAtOnce) await new Promise<void>((resolve) => queue.push(resolve));
  starting++;
}

function hasStarted(): void {
  starting--;
  queue.shift()?.();
}

interface Waiter {
  readonly matches: (line: string) => boolean;
  readonly resolve: (line: string) => void;
  readonly reject: (reason: Error) => void;
}

export class Program {
  /** Resolves once the process is gone and all that it wrote was read. Never rejects for what the program does. */
  readonly ended: Promise<Ended>;
  readonly #args: readonly string[];
  readonly #child: ChildProcess;
  readonly #written = { stdout: '', stderr: '' };
  readonly #waiters = new Set<Waiter>();
  #over = false;
  #silent = true;

  /** Resolves once the process is there, which takes a while when many are to start. */
  static async start(args: readonly string[], options: ProgramOptions = {}): Promise<Program> {
    await mayStart();
    return new Program(args, options);
  }

  private constructor(args: readonly string[], options: ProgramOptions) {
    this.#args = args;
    this.#child = spawn(process.execPath, [launcher, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inherited(), NODE_COMPILE_CACHE: compileCache, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    // The simulator goes first: what it notes of when requests came is to be about who sent them, not about a busy machine.
    if (args[0] !== 'simulate') setPriority(this.pid, 10);
    for (const stream of ['stdout', 'stderr'] as const) {
      this.#child[stream]?.setEncoding('utf8').on('data', (text: string) => this.#heard(stream, text));
    }
    this.ended = new Promise((resolve, reject) => {
      this.#child.on('error', reject);
      this.#child.on('close', (status, signal) => {
        this.#over = true;
        this.#started();
        for (const waiter of this.#waiters) waiter.reject(this.#silence());
        resolve({ status, signal, ...this.#written });
      });
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get stdout(): string {
    return this.#written.stdout;
  }

  get stderr(): string {
    return this.#written.stderr;
  }

  /** The first line on either stream that matches, also one that was written before. Rejects when the process ends without one. */
  line(pattern: RegExp): Promise<string> {
    const { stdout, stderr } = this.#written;
    const known = [...wholeLines(stdout), ...wholeLines(stderr)].find((line) => pattern.test(line));
    if (known !== undefined) return Promise.resolve(known);
    if (this.#over) return Promise.reject(this.#silence());
    return new Promise((resolve, reject) => {
      this.#waiters.add({ matches: (line) => pattern.test(line), resolve, reject });
    });
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Ends it on the spot, if it has not ended, and resolves once it is gone. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  #heard(stream: 'stdout' | 'stderr', text: string): void {
    this.#started();
    const before = this.#written[stream];
    this.#written[stream] += text;
    const begun = before.slice(before.lastIndexOf('\n') + 1);
    for (const line of wholeLines(begun + text)) {
      for (const waiter of this.#waiters) {
        if (!waiter.matches(line)) continue;
        this.#waiters.delete(waiter);
        waiter.resolve(line);
      }
    }
  }

  #started(): void {
    if (!this.#silent) return;
    this.#silent = false;
    hasStarted();
  }

  #silence(): Error {
    const { stdout, stderr } = this.#written;
    return new Error(
      `logfleet ${this.#args.join(' ')} ended without the line that was waited for:\n${stdout}\n${stderr}`,
    );
  }
}

/** Runs one command line to its end. */
export async function runToEnd(args: readonly string[], options: ProgramOptions = {}): Promise<Ended> {
  return (await Program.start(args, options)).ended;
}

function wholeLines(text: string): readonly string[] {
  return text.split('\n').slice(0, -1);
}

function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('LOGFLEET_')));
}
