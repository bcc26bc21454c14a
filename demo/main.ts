/** `make demo`, as a person starts it. What it does is `demo.ts`; this only joins it to the process. */
import { flushed, processContext } from '../src/cli/process-context.ts';
import { runDemo } from './demo.ts';

const status = await runDemo(processContext());
await flushed();
process.exit(status);
