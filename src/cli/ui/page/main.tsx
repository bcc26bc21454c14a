/** Entry of the page of `logfleet ui`. */
import { render } from 'preact';
import type { StartData } from '../page-data.ts';
import { App } from './app.tsx';

const root = document.getElementById('app');
const start: StartData = JSON.parse(document.getElementById('start')?.textContent ?? '');
if (root) render(<App start={start} />, root);
