/** Builds programs from source with Go. The go.mod and go.sum files in tools/ pin all versions. */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startStep } from './progress.ts';

export interface GoProgram {
  readonly name: string;
  /** Folder with the program's `go.mod`. */
  readonly modules: string;
  readonly package: string;
  readonly ldflags: string;
  /** Go build tags, separated by commas. */
  readonly tags?: string | undefined;
}

/** Maximum number of lines of Go's output in an error message. */
const shownLines = 30;

export function hasGo(): boolean {
  return spawnSync('go', ['version'], { stdio: 'ignore' }).status === 0;
}

/** Builds programs into `directory`. If a build fails, throws an error that contains the last lines of Go's output. */
export async function buildPrograms(programs: readonly GoProgram[], directory: string): Promise<void> {
  for (const [index, program] of programs.entries()) {
    await build(program, `building from source, ${index + 1} of ${programs.length}: ${program.name}`, directory);
  }
}

async function build(program: GoProgram, title: string, directory: string): Promise<void> {
  const step = startStep(title);
  const output: string[] = [];
  let compiled = 0;
  const go = spawn(
    'go',
    // With -v, Go prints each package that it compiles.
    [
      ...['build', '-v', '-trimpath', '-tags', program.tags ?? '', '-ldflags', program.ldflags],
      ...['-o', join(directory, program.name), program.package],
    ],
    {
      cwd: program.modules,
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const stop = () => go.kill();
  process.once('exit', stop);
  createInterface({ input: go.stderr }).on('line', (line) => {
    output.push(line);
    if (output.length > shownLines) output.shift();
    if (line.startsWith('go: downloading ')) step.detail(`fetching ${line.split(' ')[2]}`);
    else step.detail(`${++compiled} packages compiled`);
  });
  const status = await new Promise<number | null>((resolve, reject) => go.on('error', reject).on('close', resolve));
  process.removeListener('exit', stop);
  step.end(status === 0 ? 'done' : 'failed');
  if (status !== 0) throw new Error(`go build of ${program.package} failed:\n${output.join('\n')}`);
}
