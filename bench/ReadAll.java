/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes all events of a recording; prints how many, and the nanoseconds without the JVM's start. */
import java.nio.file.Path;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

public class ReadAll {
	static Object kept;

	public static void main(String[] args) throws Exception {
		long start = System.nanoTime(), events = 0;

		try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
			while (file.hasMoreEvents()) {
				RecordedEvent event = file.readEvent();

				kept = event;
				events++;
			}
		}
		System.out.println(events + " " + (System.nanoTime() - start));
	}
}
