/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commits events slowly under a stream, which makes the JVM flush its open chunk every second;
 * waits for a line on its input, and prints how many events its own stream was given.
 */
import java.util.concurrent.atomic.AtomicInteger;
import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.consumer.RecordingStream;

public class Live {
	@Name("app.Tick")
	static class Tick extends Event {
		int n;
		String text;
	}

	public static void main(String[] args) throws Exception {
		int ticks = Integer.parseInt(args[0]);
		AtomicInteger given = new AtomicInteger();

		try (RecordingStream stream = new RecordingStream()) {
			stream.onEvent("app.Tick", event -> given.incrementAndGet());
			stream.startAsync();
			for (int i = 0; i < ticks; i++) {
				Tick t = new Tick();

				t.n = i;
				t.text = "tick " + i;
				t.commit();
				Thread.sleep(30);
			}
			System.in.read();
			while (given.get() < ticks)
				Thread.sleep(10);
		}
		System.out.println(given.get());
	}
}
