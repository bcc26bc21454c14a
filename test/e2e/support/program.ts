/** Runs logfleet as a process. Tests wait for its output or its effects, never for a fixed time. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { compileCache } from '../../support/compile-cache.ts';

/**
 * Start script of the logfleet under test. By default, it is the script in this checkout. `LOGFLEET_TEST_PROGRAM` can
 * specify the script of an installed package.
 */
export const launcher =
  process.env['LOGFLEET_TEST_PROGRAM'] ?? fileURLToPath(new URL('../../../bin/logfleet.js', import.meta.url));

/** Module that a program preloads, so that a test can kill the program at a given step. */
export const killAtBoundary = new URL('./kill-at-boundary.ts', import.meta.url).href;

/**
 * Name of the logfleet command in messages to the user: `logfleet` if it is installed, or the start script in this
 * checkout.
 */
export const nameInHints = process.env['LOGFLEET_TEST_PROGRAM'] ? 'logfleet' : 'node bin/logfleet.js';

export interface Ended {
  /** Exit status, or null if a signal ended the process. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly cwd?: string;
  /** Additional environment variables. The program inherits all other variables except `LOGFLEET_...`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Start script of another logfleet installation, to run instead of the default one. */
  readonly launcher?: string;
}

/**
 * Maximum number of programs that may be starting at the same time. Each start keeps a CPU core busy for most of a
 * second.
 */
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

interface LineWaiter {
  readonly matches: (line: string) => boolean;
  readonly resolve: (line: string) => void;
  readonly reject: (reason: Error) => void;
}

export class Program {
  /** Resolves when the process has ended and its output has been read. Never rejects. */
  readonly ended: Promise<Ended>;
  readonly #args: readonly string[];
  readonly #child: ChildProcess;
  readonly #written = { stdout: '', stderr: '' };
  readonly #waiters = new Set<LineWaiter>();
  #over = false;
  #silent = true;

  /** Starts a program. First waits while too many other programs are starting. Resolves once the process exists. */
  static async start(args: readonly string[], options: ProgramOptions = {}): Promise<Program> {
    await mayStart();
    return new Program(args, options);
  }

  private constructor(args: readonly string[], options: ProgramOptions) {
    this.#args = args;
    this.#child = spawn(process.execPath, [options.launcher ?? launcher, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...inherited(), NODE_COMPILE_CACHE: compileCache, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    // All programs except the simulator get a lower priority, so that the simulator records accurate times under load.
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

  /** Resolves to the first output line that matches `pattern`. Rejects if the process ends without such a line. */
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

  /** Kills the process, and resolves when it has ended. */
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
      `logfleet ${this.#args.join(' ')} ended before it printed the expected line:\n${stdout}\n${stderr}`,
    );
  }
}

/** Runs a command line until it ends. */
export async function runToEnd(args: readonly string[], options: ProgramOptions = {}): Promise<Ended> {
  return (await Program.start(args, options)).ended;
}

function wholeLines(text: string): readonly string[] {
  return text.split('\n').slice(0, -1);
}

function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('LOGFLEET_')));
}
