import CSystemd
import Glibc

/// A message that came by a bus; stays with the thread of that bus.
final class BusMessage {
  private let raw: OpaquePointer

  init(owning raw: OpaquePointer) { self.raw = raw }

  deinit { usher_message_free(raw) }

  /// The cookie of the call it answers; 0 where it answers none.
  var answers: UInt64 { usher_message_answers(raw) }

  /// The unique name of the connection that sent it: the daemon writes it into every message.
  var sender: String? { usher_message_sender(raw).map { String(cString: $0) } }

  /// Nil unless it is an error.
  var error: BusError? {
    var text: UnsafePointer<CChar>?
    guard let name = usher_message_error(raw, &text) else { return nil }
    return .refused(name: String(cString: name), text: text.map { String(cString: $0) } ?? "")
  }

  func isSignal(
    _ member: String, of interface: String, at path: String, from sender: String
  ) -> Bool {
    usher_message_is_signal(raw, sender, path, interface, member) > 0
  }

  /// The body, where it is one string or object path.
  func string() throws(BusError) -> String {
    var value: UnsafePointer<CChar>?
    guard usher_message_read_string(raw, &value) == 0, let value else { throw .malformed }
    return String(cString: value)
  }

  /// The body, where it is a string and a boolean.
  func stringAndFlag() throws(BusError) -> (String, Bool) {
    var value: UnsafePointer<CChar>?
    var flag: CInt = 0
    guard usher_message_read_string_and_flag(raw, &value, &flag) == 0, let value
    else { throw .malformed }
    return (String(cString: value), flag != 0)
  }

  /// The body, where it is an array of strings.
  func strings() throws(BusError) -> [String] {
    var values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    guard usher_message_read_strings(raw, &values) == 0, let values else { throw .malformed }
    defer { free(values) }
    var strings: [String] = []
    var next = values
    while let value = next.pointee {
      strings.append(String(cString: value))
      free(value)
      next += 1
    }
    return strings
  }
}
