import Foundation
import Testing
import UsherTestKit

@Suite("A daemon that is started without standard streams", .mayBlock, .ownProcess)
struct StandardStreamTests {
  @Test("descriptors 0 to 2 are /dev/null where they were closed, so no socket or timer takes them")
  func closed() throws {
    let daemon = try DaemonUnderTest(
      config: "", launcher: ["/bin/sh", "-c", #"exec "$@" <&- >&- 2>&-"#, "sh"])
    for descriptor in 0...2 {
      let link = "/proc/\(daemon.pid)/fd/\(descriptor)"
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "/dev/null")
    }
  }
}
