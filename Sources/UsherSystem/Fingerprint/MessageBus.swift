import CSystemd
import Glibc

/// Why a D-Bus call has no answer.
enum BusError: Error, Equatable {
  /// The other side, or the daemon for it, answered with an error: its name and its text.
  case refused(name: String, text: String)
  /// No daemon, or the connection to it ended: the system's words.
  case disconnected(String)
  /// The other side is not on the bus any more.
  case gone
  /// The other side said something that its interface does not.
  case malformed
  /// The time was over first.
  case late
  case interrupted
}

/// A method of an object: where it is, and what it takes.
struct BusCall {
  var destination: String
  var path: String
  var interface: String
  var member: String
  var argument: String?
}

/// A signal one listens for.
struct BusSignal: Equatable {
  /// The unique name of the connection. With a well-known one, anybody on the bus could send the
  /// signal: the daemon delivers signals that are addressed to us without asking for a match.
  var sender: String
  var path: String
  var interface: String
  var member: String
  /// Only those whose first argument is this string; the daemon looks at it.
  var subject: String?

  fileprivate var rule: String {
    let rule =
      "type='signal',sender='\(sender)',path='\(path)',interface='\(interface)',member='\(member)'"
    return subject.map { "\(rule),arg0='\($0)'" } ?? rule
  }

  fileprivate func describes(_ message: BusMessage) -> Bool {
    message.isSignal(member, of: interface, at: path, from: sender)
  }
}

/// A connection to a D-Bus daemon, for one thread; it ends with this object.
///
/// D-Bus Specification, "Message Bus Message Routing". Nothing here blocks longer than it is told,
/// nor after the interruption.
final class MessageBus {
  typealias Instant = ContinuousClock.Instant

  let interruption: Interruption
  private let raw: OpaquePointer
  private var wanted: [BusSignal] = []
  private var arrived: [BusMessage] = []

  /// - Parameter address: As in the D-Bus Specification, "Server Addresses"; nil: the system bus,
  ///   `$DBUS_SYSTEM_BUS_ADDRESS` or `unix:path=/run/dbus/system_bus_socket`.
  init(address: String?, interruption: Interruption) throws(BusError) {
    var opened: OpaquePointer?
    let result = usher_bus_open(address, &opened)
    guard result == 0, let opened else { throw .disconnected(Errno(-result).words) }
    raw = opened
    self.interruption = interruption
  }

  deinit { usher_bus_close(raw) }

  /// Calls and waits for the answer. Signals that come in the meantime are kept.
  ///
  /// - Parameter mayBeInterrupted: Where false, only the time ends the waiting.
  func call(
    _ call: BusCall, until deadline: Instant, mayBeInterrupted: Bool = true
  ) throws(BusError) -> BusMessage {
    try checkWaiting(until: deadline, mayBeInterrupted: mayBeInterrupted)
    var cookie: UInt64 = 0
    let result = usher_bus_call(
      raw, call.destination, call.path, call.interface, call.member, call.argument, &cookie)
    guard result == 0 else { throw .disconnected(Errno(-result).words) }
    while true {
      let message = try next(until: deadline, mayBeInterrupted: mayBeInterrupted)
      if message.answers == cookie {
        if let error = message.error { throw error }
        return message
      }
      if wanted.contains(where: { $0.describes(message) }) { arrived.append(message) }
    }
  }

  /// Asks the daemon for a signal: none that is sent after this returns is missed.
  func listen(for signal: BusSignal, until deadline: Instant) throws(BusError) {
    wanted.append(signal)
    _ = try call(
      BusCall(
        destination: Self.daemon, path: "/org/freedesktop/DBus", interface: Self.daemon,
        member: "AddMatch", argument: signal.rule), until: deadline)
  }

  /// The next of the signals listened for.
  func nextSignal(until deadline: Instant) throws(BusError) -> (BusSignal, BusMessage) {
    while true {
      let message =
        try arrived.isEmpty
        ? next(until: deadline, mayBeInterrupted: true) : arrived.removeFirst()
      if let signal = wanted.first(where: { $0.describes(message) }) { return (signal, message) }
    }
  }

  /// The daemon's own name, by which it sends what it has to say.
  static let daemon = "org.freedesktop.DBus"

  private func next(
    until deadline: Instant, mayBeInterrupted: Bool
  ) throws(BusError) -> BusMessage {
    while true {
      // Each time, for a stream of messages that never ends must not stop the clock.
      let left = try checkWaiting(until: deadline, mayBeInterrupted: mayBeInterrupted)
      var message: OpaquePointer?
      let result = usher_bus_process(raw, &message)
      if let message { return BusMessage(owning: message) }
      guard result >= 0 else { throw .disconnected(Errno(-result).words) }
      guard result == 0 else { continue }
      let failure = usher_bus_wait(
        raw, mayBeInterrupted ? interruption.raw : -1, Self.milliseconds(left))
      guard failure == 0 else { throw .disconnected(Errno(-failure).words) }
    }
  }

  /// How long it may still take.
  @discardableResult
  private func checkWaiting(
    until deadline: Instant, mayBeInterrupted: Bool
  ) throws(BusError) -> Duration {
    if mayBeInterrupted, interruption.hasHappened { throw .interrupted }
    let left = ContinuousClock.now.duration(to: deadline)
    guard left > .zero else { throw .late }
    return left
  }

  /// Rounded up, for poll(2); at most an hour, after which it is called again.
  private static func milliseconds(_ duration: Duration) -> CInt {
    let (seconds, attoseconds) = min(duration, .seconds(3600)).components
    return CInt(seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
  }
}
