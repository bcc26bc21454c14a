/** Entry of `make demo`: connects `demo.ts` to the process. */
import { flushed, processContext } from '../src/cli/process-context.ts';
import { runDemo } from './demo.ts';

const status = await runDemo(processContext());
await flushed();
process.exit(status);
