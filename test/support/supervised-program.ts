/** Starts programs that a supervisor process kills when the test process ends. */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';

export interface SupervisedProgram {
  readonly name: string;
  runs(): boolean;
  /** End of the program's output. */
  log(): string;
  stop(): Promise<void>;
}

/** Shell script that kills the program when the script's standard input ends. It ignores Ctrl-C. */
const supervisor = `
  trap "" INT TERM HUP
  exec 3<&0
  "$@" 3<&- & program=$!
  (read -r _ <&3; kill -9 $program) &
  exec 3<&-
  wait $program
  rm -rf -- "$PROGRAM_DIRECTORY"`;

/** Starts a program with its own folder, which is removed when the program ends. */
export function startSupervised(
  directory: string,
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): SupervisedProgram {
  mkdirSync(directory, { recursive: true });
  const logFile = `${directory}.log`;
  const log = openSync(logFile, 'w');
  const child = spawn('sh', ['-c', supervisor, 'supervisor', program, ...args], {
    stdio: ['pipe', log, log],
    env: { ...process.env, ...environment, PROGRAM_DIRECTORY: directory },
  });
  closeSync(log);
  const exited = once(child, 'exit');
  return {
    name: program,
    runs: () => child.exitCode === null,
    log: () => readFileSync(logFile, 'utf8').slice(-4_000),
    async stop() {
      child.stdin?.end();
      await exited;
    },
  };
}

/**
 * Returns free ports. They are below the ports that the operating system chooses itself. Otherwise, a connection of any
 * program could take a port before its program has started, or while its program restarts.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(20_000, 30_000);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
    await once(server.close(), 'close');
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return false;
  }
}
