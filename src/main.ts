/**
 * Where the process begins: command line in, exit status out. `bin/logfleet.js` comes before it and finds a Node that can
 * run it.
 */
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// What was compiled once is read back by the next start. Where nothing can be written (an image), it changes nothing.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url)));

const { flushed, processContext } = await import('./cli/process-context.ts');
const { runProgram } = await import('./cli/program.ts');

const status = await runProgram(process.argv.slice(2), processContext());
await flushed();
process.exit(status);
