/** What a view says of itself: all that lists views follows from it. */

import type { ComponentChildren, ComponentType } from "preact";

import type { GridPicture, GridWish } from "../maps/maps.ts";
import type { Hello } from "../shared/wire.ts";
import type { ExplorerSession } from "./session.ts";

export interface ShownProps {
  session: ExplorerSession;
  hello: Hello;
}

export interface PartProps extends ShownProps {
  /** In a widget of its own. */
  alone: boolean;
}

/** A component file of a folder exports one as `VIEW`; the build lists them in `generated/views.ts`. */
export interface ExplorerView {
  /** As Python's record calls it. */
  name: string;
  Shown: ComponentType<PartProps>;
  /** The first part of the details while the view is shown. */
  Details?: ComponentType<{ session: ExplorerSession }>;
  style?: string;
  /** Colours the chunks of a picture by what is known of its part; for null it requests nothing. */
  usePaint?(session: ExplorerSession, wish: GridWish | null): Paint | null;
  /** The access by which strips of chunks are coloured as its picture is. */
  access?(session: ExplorerSession): string;
  /** Where it is, as an address says it, by the names that Python's record gives. */
  address?: Record<string, Spot>;
}

export interface Paint {
  colours(picture: GridPicture): (cell: number) => string;
  legend(picture: GridPicture): ComponentChildren;
}

export interface Spot {
  /** Empty where it is as it is at first. */
  text(session: ExplorerSession): string;
  /** Goes where a text says; what cannot be read of it is as it is at first. */
  show(session: ExplorerSession, text: string): void;
  /** Whether it needs the other set, which comes later. */
  isLate?: boolean;
}
