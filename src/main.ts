/**
 * Entry point: runs the command line and exits with its exit status. `bin/logfleet.js` finds a Node version that can
 * run this file.
 */
import { enableCompileCache } from 'node:module';
import { inPackage } from './cli/command/package-folder.ts';

// Caches compiled code on disk, which makes later starts faster. A cache folder that is not writable causes no error.
enableCompileCache(inPackage('node_modules/.cache/compile'));

const { flushed, processContext } = await import('./cli/process-context.ts');
const { runProgram } = await import('./cli/program.ts');

const status = await runProgram(process.argv.slice(2), processContext());
await flushed();
process.exit(status);
