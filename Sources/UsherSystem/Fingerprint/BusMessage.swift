import CSystemd
import Glibc

/// A message received from a D-Bus connection. It must stay on the thread of that connection.
final class BusMessage {
  private let raw: OpaquePointer

  init(owning raw: OpaquePointer) { self.raw = raw }

  deinit { usher_message_free(raw) }

  /// The serial number (in sd-bus: cookie) of the call that this message replies to, or 0 if the
  /// message is not a reply.
  var answers: UInt64 { usher_message_answers(raw) }

  /// The unique name of the sender's connection. The bus daemon sets it in every message, so a
  /// sender cannot forge it.
  var sender: String? { usher_message_sender(raw).map { String(cString: $0) } }

  /// The error that the message carries, or nil if it is not an error reply.
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

  /// Reads the body of a message whose signature is one string or object path.
  func string() throws(BusError) -> String {
    var value: UnsafePointer<CChar>?
    guard usher_message_read_string(raw, &value) == 0, let value else { throw .malformed }
    return String(cString: value)
  }

  /// Reads the body of a message whose signature is a string and a boolean.
  func stringAndFlag() throws(BusError) -> (String, Bool) {
    var value: UnsafePointer<CChar>?
    var flag: CInt = 0
    guard usher_message_read_string_and_flag(raw, &value, &flag) == 0, let value
    else { throw .malformed }
    return (String(cString: value), flag != 0)
  }

  /// Reads the body of a message whose signature is an array of strings.
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
