/**
 * Finds out how the user started this program, such as with `npx logfleet`. The commands in hints begin with the same
 * words, so that users can copy and run them.
 */
import path from 'node:path';
import { shellWord } from '../../base/shell-word.ts';
import { inPackage } from './package-folder.ts';

/** Returns a logfleet command line, such as `npx logfleet get cvp`. `words` follow the program's name. */
export function invocation(words: string): string {
  return `${programName()} ${words}`;
}

interface Surroundings {
  /** Script that Node runs: `bin/logfleet.js` or a link to it, or `src/main.ts`. */
  readonly started: string;
  readonly cwd: string;
  /** Folder of the package that npx is running. Undefined if npx is not used. */
  readonly npmPrefix: string | undefined;
}

/** Returns the words with which the user started this program, such as `npx logfleet`. */
export function programName({ started, cwd, npmPrefix }: Surroundings = ofProcess()): string {
  const name = path.basename(started);
  if (name === 'kubectl-logfleet') return 'kubectl logfleet';
  if (started.includes('/node_modules/.bin/')) {
    const isOutside = npmPrefix !== undefined && path.relative(npmPrefix, cwd).startsWith('..');
    return `npx ${isOutside ? `--prefix ${shellWord(npmPrefix)} ` : ''}logfleet`;
  }
  // A published package contains only JavaScript. If this module is a TypeScript file, logfleet runs from a checkout.
  const isCheckout = import.meta.filename.endsWith('.ts') && (name === 'logfleet.js' || name === 'main.ts');
  return isCheckout ? `node ${shellWord(path.relative(cwd, inPackage('bin/logfleet.js')))}` : 'logfleet';
}

function ofProcess(): Surroundings {
  const { argv, env } = process;
  return { started: argv[1] ?? '', cwd: process.cwd(), npmPrefix: env['npm_config_local_prefix'] };
}
