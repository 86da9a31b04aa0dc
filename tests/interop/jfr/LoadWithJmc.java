// SPDX-License-Identifier: Apache-2.0
// Loads a recording as JDK Mission Control does, and prints what it understood, one line an event:
// type, then attribute=value, tabs between. First come lines "# type count".
import java.io.File;
import java.util.Map;
import java.util.TreeMap;

import org.openjdk.jmc.common.IMCFrame;
import org.openjdk.jmc.common.IMCStackTrace;
import org.openjdk.jmc.common.IMCThread;
import org.openjdk.jmc.common.item.IAttribute;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.IMemberAccessor;
import org.openjdk.jmc.common.item.IType;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.common.util.FormatToolkit;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;

public class LoadWithJmc {
	private static String text(Object value) {
		if (value instanceof IQuantity) {
			return ((IQuantity) value).persistableString();
		}
		if (value instanceof IMCThread) {
			return ((IMCThread) value).getThreadName();
		}
		if (value instanceof IMCStackTrace) {
			return stack((IMCStackTrace) value);
		}
		return String.valueOf(value);
	}

	// What JMC's views of stacks do with each frame: they throw at names that are no Java names.
	private static String stack(IMCStackTrace trace) {
		StringBuilder text = new StringBuilder();
		text.append(trace.hashCode() == 0 ? "" : "");
		for (IMCFrame frame : trace.getFrames()) {
			text.append(FormatToolkit.getHumanReadable(frame.getMethod(), false, false, true, true, true, false));
			text.append(';');
		}
		return text.toString();
	}

	private static <T> void print(IType<T> type, Object item) {
		StringBuilder line = new StringBuilder(type.getIdentifier());
		for (IAttribute<?> attribute : type.getAttributes()) {
			@SuppressWarnings("unchecked")
			IMemberAccessor<?, T> accessor = (IMemberAccessor<?, T>) attribute.getAccessor(type);
			@SuppressWarnings("unchecked")
			Object value = accessor == null ? null : accessor.getMember((T) item);
			line.append('\t').append(attribute.getIdentifier()).append('=').append(text(value));
		}
		System.out.println(line);
	}

	public static void main(String[] args) throws Exception {
		IItemCollection events = JfrLoaderToolkit.loadEvents(new File(args[0]));
		Map<String, Long> counts = new TreeMap<>();
		for (IItemIterable items : events) {
			for (IItem item : items) {
				counts.merge(items.getType().getIdentifier(), 1L, Long::sum);
			}
		}
		counts.forEach((name, count) -> System.out.println("# " + name + " " + count));
		for (IItemIterable items : events) {
			if (items.getType().getIdentifier().startsWith("jdk.")) {
				for (IItem item : items) {
					print(items.getType(), item);
				}
			}
		}
	}
}
