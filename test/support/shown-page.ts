/** Runs `logfleet ui` in the test process, and opens its page in Chromium. */
import { type Browser, chromium, type Page } from 'playwright-core';
import type { AnyResource } from '../../src/api/kinds.ts';
import { systemClock } from '../../src/base/clock.ts';
import { pageHtml } from '../../src/cli/ui/page-html.ts';
import { uiCommand } from '../../src/cli/ui/ui.ts';
import { MemoryReader } from './memory-reader.ts';
import { recordingContext } from './recording-context.ts';

export interface ShownPage {
  /** Address of the page. */
  readonly url: string;
  readonly reader: MemoryReader;
  stop(): Promise<void>;
}

class ProductionReader extends MemoryReader {
  override readonly place = 'context production';
}

/** Starts `logfleet ui` with these resources. Resolves when the page can be opened. */
export async function showPage(resources: readonly AnyResource[]): Promise<ShownPage> {
  const reader = new ProductionReader(resources);
  const context = recordingContext();
  const listening = Promise.withResolvers<string>();
  const write = (text: string) => listening.resolve(text.trim());
  const ended = uiCommand(
    { allNamespaces: true, context: 'production' },
    { ...context, stdout: { ...context.stdout, write } },
    { open: async () => reader, clock: systemClock, html: pageHtml },
  );
  const url = await Promise.race([listening.promise, ended.then(() => Promise.reject(new Error('the command ended')))]);
  return {
    url,
    reader,
    stop: async () => {
      context.stop('SIGTERM');
      await ended;
    },
  };
}

export interface Viewport {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
}

/** Time limit in ms that only a hanging page or browser exceeds. */
const longestWaitMs = 300_000;

export function startBrowser(executablePath: string): Promise<Browser> {
  // Chromium's sandbox does not work for root in a container.
  return chromium.launch({ executablePath, args: ['--no-sandbox'], timeout: longestWaitMs });
}

export interface OpenPage {
  readonly page: Page;
  /** Errors in the browser console. */
  readonly errors: readonly string[];
  /** Origins of all requests sent by the page. */
  readonly origins: ReadonlySet<string>;
}

/** Opens the page in a new tab. `id` selects a resource, such as `cvp/logging/production`. */
export async function openPage(browser: Browser, url: string, id = '', screen: Viewport = {}): Promise<OpenPage> {
  const { width = 1280, height = 800, colorScheme = 'light' } = screen;
  const browsing = await browser.newContext({ viewport: { width, height }, colorScheme });
  browsing.setDefaultTimeout(longestWaitMs);
  await browsing.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await browsing.newPage();
  const errors: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('request', (request) => origins.add(new URL(request.url()).origin));
  // Soon after the page is drawn, it scrolls to its first row. It has done so when it asks for changes.
  await Promise.all([page.waitForRequest('**/api/changes'), page.goto(id === '' ? url : `${url}#${id}`)]);
  await page.waitForSelector(id === '' ? '.row a' : 'article h2');
  return { page, errors, origins };
}
