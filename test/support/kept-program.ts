/**
 * Programs that end with this process, however it ends: each has a keeper that reads a pipe from us and kills at its end.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** A program under a keeper. */
export interface Kept {
  readonly name: string;
  runs(): boolean;
  /** The end of what it wrote. */
  log(): string;
  stop(): Promise<void>;
}

/**
 * The keeper: a shell that starts the program, ends when it ends, and kills it once standard input ends, which is when we
 * close it or are no more. Ctrl-C reaches the keeper too and is left to us.
 */
const keeper = `
  trap "" INT TERM HUP
  exec 3<&0
  "$@" 3<&- & program=$!
  (read -r _ <&3; kill -9 $program) &
  exec 3<&-
  wait $program
  rm -rf -- "$KEPT_DIRECTORY"`;

/** Starts a program with a folder of its own, which is removed when it ends. */
export function keep(
  directory: string,
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Kept {
  mkdirSync(directory, { recursive: true });
  const logFile = `${directory}.log`;
  const log = openSync(logFile, 'w');
  const child = spawn('sh', ['-c', keeper, 'keeper', program, ...args], {
    stdio: ['pipe', log, log],
    env: { ...process.env, ...environment, KEPT_DIRECTORY: directory },
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

/** Ports that were free a moment ago, all different. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
