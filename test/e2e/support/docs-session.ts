/** Runs the commands of a documentation page in a new folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ControlPlaneAccess } from '../../support/control-plane.ts';
import { launcher } from './program.ts';

const root = join(import.meta.dirname, '../../..');

/** Address of the simulator in the documentation. */
const documentedAddress = '127.0.0.1:8443';

/** Commands that run until they are interrupted. */
const isEndless = /\blogfleet (?:simulate|ui)\b|--watch\b/;

export class DocsSession {
  readonly #folder = mkdtempSync(join(tmpdir(), 'logfleet-docs-session-'));
  readonly #endless: ChildProcess[] = [];
  /**
   * Commands on the page that set variables and aliases. Each later command runs in its own shell, which first runs
   * these commands again.
   */
  #settings = 'shopt -s expand_aliases\n';
  #address = documentedAddress;

  /** @param cluster control plane for kubectl, if the commands need a cluster */
  constructor(cluster?: Pick<ControlPlaneAccess, 'kubectl' | 'adminKubeconfig'>) {
    for (const name of ['examples', 'manifests'])
      cpSync(join(root, name), join(this.#folder, name), { recursive: true });
    mkdirSync(join(this.#folder, 'bin'));
    this.#program('logfleet', `exec "${process.execPath}" "${launcher}" "$@"`);
    this.#program('npx', 'exec "$@"');
    if (cluster) this.#program('kubectl', dryRun(cluster));
  }

  save(file: string, content: string): void {
    mkdirSync(dirname(join(this.#folder, file)), { recursive: true });
    writeFileSync(join(this.#folder, file), content);
  }

  /**
   * Runs a command, and throws if it fails. Some commands run until they are interrupted. For these commands, waits
   * only for the first output.
   */
  async run(command: string): Promise<void> {
    const line = command
      .replace(`--listen ${documentedAddress}`, '--listen 127.0.0.1:0')
      .replace('--port 8080', '--port 0')
      .replace(/\bcurl\b/, 'curl --fail --retry 5');
    if (/^(?:export|alias) /.test(line)) this.#settings += `${line}\n`;
    else if (isEndless.test(line)) await this.#start(line);
    else await this.#complete(line);
  }

  /** Ends all programs and removes the folder. */
  async close(): Promise<void> {
    await this.#endEndless();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #program(name: string, script: string): void {
    const file = join(this.#folder, 'bin', name);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
  }

  #spawn(line: string): ChildProcess {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LOGFLEET_'));
    const script = `set -o pipefail\n${this.#settings}${line}`.replaceAll(documentedAddress, this.#address);
    return spawn('bash', ['-c', script], {
      cwd: this.#folder,
      env: { ...Object.fromEntries(inherited), PATH: `${join(this.#folder, 'bin')}:${process.env['PATH']}` },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
  }

  async #complete(line: string): Promise<void> {
    const child = this.#spawn(line);
    const [stdout, stderr, [status]] = await Promise.all([
      text(child.stdout as NonNullable<typeof child.stdout>),
      text(child.stderr as NonNullable<typeof child.stderr>),
      once(child, 'close'),
    ]);
    // If the program that reads a command's output ends before the command, as `head` does, the command ends with
    // status 141.
    if (status !== 0 && status !== 141) throw new Error(`"${line}" ends with status ${status}:\n${stdout}\n${stderr}`);
  }

  /** Starts a command that does not end by itself, and waits for its first output. */
  async #start(line: string): Promise<void> {
    if (/ simulate /.test(line)) await this.#endEndless();
    const child = this.#spawn(line);
    this.#endless.push(child);
    const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
    const output = Promise.race(streams.map((stream) => once(stream, 'data'))).then(([chunk]) => String(chunk));
    for (const stream of streams) stream.resume();
    const ended = once(child, 'exit').then(() => {
      throw new Error(`"${line}" ended before it printed anything`);
    });
    const first = await Promise.race([output, ended]);
    ended.catch(() => {});
    if (first.startsWith('{')) this.#address = new URL(JSON.parse(first).baseURL).host;
  }

  async #endEndless(): Promise<void> {
    for (const child of this.#endless.splice(0)) {
      if (child.exitCode !== null || child.pid === undefined) continue;
      // Bash ends before its child processes. Only `close` shows that these have ended, too, and write no more files.
      const ended = once(child, 'close');
      process.kill(-child.pid, 'SIGTERM');
      await ended;
    }
  }
}

/** Returns a script that runs kubectl in dry-run mode. The API server checks each write and then discards it. */
function dryRun({ kubectl, adminKubeconfig }: Pick<ControlPlaneAccess, 'kubectl' | 'adminKubeconfig'>): string {
  return `case " $* " in
  *" create namespace "*) set -- "$@" --dry-run=client ;;
  *" apply "* | *" create "* | *" annotate "* | *" delete "* | *" patch "*) set -- "$@" --dry-run=server ;;
esac
exec "${kubectl}" --kubeconfig "${adminKubeconfig}" "$@"`;
}
