import CSystemd
import Glibc

/// Why a D-Bus call has no reply.
enum BusError: Error, Equatable {
  /// The called service, or the bus daemon on its behalf, replied with an error: its name and text.
  case refused(name: String, text: String)
  /// There is no bus daemon, or the connection to it ended. Carries the text of the errno value.
  case disconnected(String)
  /// The called service has left the bus.
  case gone
  /// The reply does not match the interface of the called service.
  case malformed
  /// The called service did not reply before the deadline.
  case late
  case interrupted
}

/// A D-Bus method call: the object, the method and its argument.
struct BusCall {
  var destination: String
  var path: String
  var interface: String
  var member: String
  var argument: String?
}

/// A D-Bus signal to subscribe to.
struct BusSignal: Equatable {
  /// The unique name of the sender's connection. A well-known name would not be safe: any process
  /// on the bus could send the signal, because the bus daemon delivers signals that are addressed
  /// to this connection without checking the match rule.
  var sender: String
  var path: String
  var interface: String
  var member: String
  /// If set, only signals whose first argument is this string match. The bus daemon filters them.
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

/// A connection to a D-Bus daemon, for one thread. It is closed when this object is destroyed.
///
/// See the D-Bus Specification, "Message Bus Message Routing". No call blocks longer than its
/// deadline. A call also ends when the connection's ``Interruption`` happens, unless
/// `mayBeInterrupted` is false.
final class MessageBus {
  typealias Instant = ContinuousClock.Instant

  let interruption: Interruption
  private let raw: OpaquePointer
  private var signals: [BusSignal] = []
  private var arrived: [BusMessage] = []

  /// Starts to connect; the first call waits until the connection is established.
  ///
  /// - Parameter address: The address as in the D-Bus Specification, "Server Addresses". Nil means
  ///   the system bus: `$DBUS_SYSTEM_BUS_ADDRESS` or `unix:path=/run/dbus/system_bus_socket`.
  init(address: String?, interruption: Interruption) throws(BusError) {
    var opened: OpaquePointer?
    let result = usher_bus_open(address, &opened)
    guard result == 0, let opened else { throw .disconnected(Errno(-result).words) }
    raw = opened
    self.interruption = interruption
  }

  deinit { usher_bus_close(raw) }

  /// Sends a call and waits for the reply. Signals that arrive in the meantime are queued.
  ///
  /// - Parameter mayBeInterrupted: If false, only the deadline ends the wait.
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
      if signals.contains(where: { $0.describes(message) }) { arrived.append(message) }
    }
  }

  /// Subscribes to a signal. No signal that is sent after this returns is missed.
  func listen(for signal: BusSignal, until deadline: Instant) throws(BusError) {
    signals.append(signal)
    _ = try call(
      BusCall(
        destination: Self.daemon, path: "/org/freedesktop/DBus", interface: Self.daemon,
        member: "AddMatch", argument: signal.rule), until: deadline)
  }

  /// Returns the next signal that ``listen(for:until:)`` subscribed to, in the order of arrival.
  func nextSignal(until deadline: Instant) throws(BusError) -> (BusSignal, BusMessage) {
    while true {
      let message =
        try arrived.isEmpty
        ? next(until: deadline, mayBeInterrupted: true) : arrived.removeFirst()
      if let signal = signals.first(where: { $0.describes(message) }) { return (signal, message) }
    }
  }

  /// The bus daemon's own name.
  static let daemon = "org.freedesktop.DBus"

  private func next(
    until deadline: Instant, mayBeInterrupted: Bool
  ) throws(BusError) -> BusMessage {
    while true {
      // The deadline is checked for each message, because an endless stream of messages would
      // otherwise keep the call waiting.
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

  /// Returns the time left until the deadline. Throws if it has passed or the interruption has
  /// happened.
  @discardableResult
  private func checkWaiting(
    until deadline: Instant, mayBeInterrupted: Bool
  ) throws(BusError) -> Duration {
    if mayBeInterrupted, interruption.hasHappened { throw .interrupted }
    let left = ContinuousClock.now.duration(to: deadline)
    guard left > .zero else { throw .late }
    return left
  }

  /// Converts a duration for poll(2): rounded up, and at most one hour. After an hour the caller
  /// calls poll(2) again.
  private static func milliseconds(_ duration: Duration) -> CInt {
    let (seconds, attoseconds) = min(duration, .seconds(3600)).components
    return CInt(seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
  }
}
