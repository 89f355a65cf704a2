/** The text equivalent of a picture, written when the picture stays. */

import { useEffect, useState } from "preact/hooks";

import type { ReadingModel } from "../../shared/wire.ts";
import type { Axis } from "../slices.ts";
import { sentences } from "./sentences.ts";

interface Props {
  id: string;
  values: Float64Array;
  axes: Axis[];
  reading: ReadingModel;
}

/** Milliseconds without another picture: of a scrubbed one nobody wants to hear. */
const RESTING = 300;

export function Told({ id, values, axes, reading }: Props) {
  const [text, setText] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setText(sentences(values, axes, reading)), RESTING);
    return () => clearTimeout(timer);
  }, [values, axes, reading]);
  return (
    <p id={id} class="unseen">
      {text}
    </p>
  );
}
