import Foundation
import Testing
import UsherTestKit

@Suite("Start without standard streams", .mayBlock, .timeLimit(.minutes(10)), .ownProcess)
struct StandardStreamTests {
  @Test("usherd opens /dev/null as descriptors 0 to 2 if they are closed when it starts")
  func closed() throws {
    let daemon = try DaemonUnderTest(
      config: "", launcher: ["/bin/sh", "-c", #"exec "$@" <&- >&- 2>&-"#, "sh"])
    for descriptor in 0...2 {
      let link = "/proc/\(daemon.pid)/fd/\(descriptor)"
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "/dev/null")
    }
  }
}
