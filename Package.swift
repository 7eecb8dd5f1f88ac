// swift-tools-version: 6.2
import PackageDescription

// The modules and what each may import. `.ci/check-layers` refuses other imports, and I/O in the
// pure modules. `--explicit-target-dependency-import-check error` checks imports, too, but skips
// modules with a plugin and the modules that depend on them.

/// Whether this is a build of the fuzzer, which Packaging/fuzz makes in a folder of its own. Only
/// there the modules are instrumented, and UsherDaemon has only the files that fuzz targets check.
let isFuzzing = Context.environment["USHER_FUZZ"] != nil

/// Whether this is a build by Packaging/release-build. Only there usher-helper has no shared
/// libraries, because a tool starts it for each credential: that saves a third of the time and a
/// megabyte. glibc cannot start such a program if it has a run path, as other builds have.
let isReleaseBuild = Context.environment["USHER_RELEASE_BUILD"] != nil

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("ExistentialAny"),
  .treatAllWarnings(as: .error),
]

let instrumented: [SwiftSetting] =
  isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer,address", "-O"])] : []

let nio: [Target.Dependency] = [
  .product(name: "NIOCore", package: "swift-nio"),
  .product(name: "NIOPosix", package: "swift-nio"),
]
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
/// X.509 certificates. jwt-kit needs both packages, too.
let certificates: [Target.Dependency] = [
  .product(name: "SwiftASN1", package: "swift-asn1"),
  .product(name: "X509", package: "swift-certificates"),
]
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")

/// - Parameters:
///   - path: Nil: `Sources/<name>`.
///   - describesMembers: Whether the build writes the descriptions of members in `rpc.discover`
///     from their documentation comments.
func module(
  _ name: String, _ dependencies: [Target.Dependency] = [], path: String? = nil,
  resources: [Resource] = [], describesMembers: Bool = false
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: path, resources: resources,
    swiftSettings: strict + instrumented, plugins: describesMembers ? ["DescribeMembers"] : [])
}

/// - Parameter path: Nil: `Sources/<name>`.
func program(
  _ name: String, _ dependencies: [Target.Dependency], path: String? = nil
) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: path, swiftSettings: strict)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [],
  describesMembers: Bool = false
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict,
    plugins: describesMembers ? ["DescribeMembers"] : [])
}

/// End-to-end tests of the real programs, in `Tests/EndToEndTests/<Area>`.
func endToEndTests(
  _ area: String, _ more: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
  .testTarget(
    name: "EndToEnd\(area)Tests",
    dependencies: ["UsherAPI", "UsherCore", "JSONRPC", "UsherTestKit"] + more,
    path: "Tests/EndToEndTests/\(area)", exclude: exclude, swiftSettings: strict)
}

let package = Package(
  name: "usherd",
  products: [
    .library(name: "UsherClient", targets: ["UsherClient"]),
    .library(name: "UsherKit", targets: ["UsherKit"]),
    .executable(name: "usherd", targets: ["usherd"]),
    .executable(name: "usherctl", targets: ["usherctl"]),
    .executable(name: "usher-helper", targets: ["usher-helper"]),
    .executable(name: "usher-sandbox", targets: ["usher-sandbox"]),
    .executable(name: "usher-bench", targets: ["usher-bench"]),
    .executable(name: "usher-sim", targets: ["usher-sim"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
    .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
    .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
    .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1"),
    .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
    .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
  ],
  targets: [
    // C code: shims for Debian's libraries and for what Swift cannot call.
    .target(name: "CSystemd", linkerSettings: [.linkedLibrary("systemd")]),
    .target(name: "CSQLite"),
    .target(name: "CToml"),
    // Wipes memory when it is freed. Only for the daemon, whose memory contains secrets.
    .target(name: "CWipe"),

    // The pure modules: they compute values from values, without I/O.
    module("UsherCore"),
    module("JSONRPC"),
    module("UsherAPI", ["UsherCore", "JSONRPC"], describesMembers: true),
    module(
      "UsherConfig", ["UsherCore", "JSONRPC", "UsherAPI", "CToml"],
      resources: [.embedInCode("Presets/presets.toml")]),
    module(
      "UsherFlows",
      [
        "UsherCore", "UsherAPI", "UsherConfig", "JSONRPC", crypto,
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ] + certificates,
      resources: [.embedInCode("BSA/rtcodes.tsv")], describesMembers: true),

    // What tools ask a credential helper, and what it answers.
    module("UsherHelpers", ["JSONRPC"]),

    // The modules with I/O.
    module(
      "UsherStore",
      ["UsherCore", "CSQLite", crypto, .product(name: "GRDB", package: "GRDB.swift")]),
    module("UsherSystem", ["UsherCore", "CSystemd", logging]),
    module(
      "UsherTransport",
      [
        "UsherCore", "UsherSystem",
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "NIOCore", package: "swift-nio"),
      ]),
    module(
      "UsherDaemon",
      [
        "UsherCore", "JSONRPC", "UsherAPI", "UsherFlows", "UsherConfig", "UsherStore",
        "UsherSystem", "UsherTransport", crypto, logging,
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
        .product(name: "JWTKit", package: "jwt-kit"),
      ] + nio),

    // The client side of the socket.
    module("UsherClient", ["UsherCore", "JSONRPC", "UsherAPI"] + nio),
    module("UsherKit", ["UsherCore", "JSONRPC", "UsherAPI", "UsherClient", crypto]),
    module(
      "UsherCommands",
      [
        "UsherCore", "JSONRPC", "UsherAPI", "UsherClient", "UsherConfig",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),

    program(
      "usherd",
      [
        "UsherDaemon", "CWipe",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    program("usherctl", ["UsherCommands"]),
    .executableTarget(
      name: "usher-helper", dependencies: ["UsherHelpers"], swiftSettings: strict,
      linkerSettings: isReleaseBuild
        ? [.unsafeFlags(["-static-executable", "-Xclang-linker", "-static-pie"])] : []),

    // Tools for development and measurement, which are not part of the product.
    module(
      "UsherSandbox",
      [
        crypto, logging,
        .product(name: "CryptoExtras", package: "swift-crypto"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "HummingbirdTLS", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
        .product(name: "Mustache", package: "swift-mustache"),
        .product(name: "JWTKit", package: "jwt-kit"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ] + nio + certificates,
      path: "Sources/Tools/UsherSandbox",
      resources: [.embedInCode("FreedomID/device-api.openapi.json")]),
    // The inner loops of usher-bench, which must cost less than what they measure.
    .target(name: "CBench", path: "Sources/Tools/CBench"),
    program(
      "usher-sandbox",
      ["UsherSandbox", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      path: "Sources/Tools/usher-sandbox"),
    program(
      "usher-bench",
      [
        "UsherClient", "UsherCore", "UsherStore", "JSONRPC", "CBench",
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Sources/Tools/usher-bench"),
    // The simulator. The C library's functions that it replaces must not get into the tests.
    .target(name: "CSimulatedKernel", path: "Sources/Tools/CSimulatedKernel"),
    module(
      "UsherSimulator",
      [
        "UsherCore", "JSONRPC", "UsherConfig", "UsherFlows", "UsherSystem", "UsherTransport",
        "UsherDaemon", "UsherSandbox", logging,
        .product(name: "HeapModule", package: "swift-collections"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
      ] + nio,
      path: "Sources/Tools/UsherSimulator"),
    program(
      "usher-sim",
      [
        "UsherSimulator", "CSimulatedKernel",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Sources/Tools/usher-sim"),
    // A step of the build. No test may depend on the tool: the test bundle has its code already.
    program("describe-members", [], path: "Sources/Tools/describe-members"),
    .plugin(
      name: "DescribeMembers", capability: .buildTool(), dependencies: ["describe-members"]),

    // The shared test library, and the tests.
    .target(
      name: "UsherTestKit",
      dependencies: [
        "UsherCore", "JSONRPC", "UsherAPI", "UsherConfig", "UsherFlows", "UsherDaemon",
        "UsherSystem", "UsherTransport", "UsherSandbox", logging,
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ] + nio,
      path: "Tests/UsherTestKit",
      exclude: ["as_user.py", "fprintd.py", "movable_clock.c", "take_number.py"],
      swiftSettings: strict),
    // The code of the vendors' documentation as it is there, which an app has on the main actor. It
    // has unused values, so warnings are not shown.
    .target(name: "UsherKitUIKitShim", path: "Tests/UsherKitUIKitShim", swiftSettings: strict),
    .target(
      name: "SeedExamples", dependencies: ["UsherKit", "UsherKitUIKitShim", crypto],
      path: "Tests/SeedExamples",
      swiftSettings: [
        .swiftLanguageMode(.v6), .defaultIsolation(MainActor.self),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .unsafeFlags(["-suppress-warnings"]),
      ]),
    // Properties that must hold for any bytes: the fuzzer and a test check them.
    module(
      "UsherFuzz",
      [
        "UsherCore", "JSONRPC", "UsherAPI", "UsherConfig", "UsherFlows", "UsherStore",
        "UsherSystem", "UsherDaemon", "UsherCommands", "UsherHelpers", crypto,
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      path: "Tests/Fuzz/Targets"),
    .testTarget(
      name: "UsherFuzzTests", dependencies: ["UsherFuzz"], path: "Tests/Fuzz/Tests",
      swiftSettings: strict),
    tests("UsherCoreTests", ["UsherCore", "UsherTestKit"]),
    tests("JSONRPCTests", ["JSONRPC", "UsherFuzz", "UsherTestKit"]),
    tests(
      "UsherAPITests", ["UsherAPI", "UsherFlows", "UsherCore", "JSONRPC", "UsherTestKit"],
      exclude: ["Fixtures"]),
    tests(
      "UsherConfigTests", ["UsherConfig", "UsherAPI", "UsherCore", "JSONRPC", "UsherTestKit"]),
    tests(
      "UsherFlowsTests",
      ["UsherFlows", "UsherAPI", "UsherConfig", "UsherCore", "JSONRPC", "UsherTestKit", crypto],
      exclude: ["Fixtures"], describesMembers: true),
    tests(
      "UsherStoreTests",
      [
        "UsherStore", "UsherCore", "UsherTestKit", crypto,
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      exclude: ["Fixtures"]),
    tests(
      "UsherSystemTests", ["UsherSystem", "UsherCore", "CSystemd", "UsherTestKit", logging]),
    tests(
      "UsherTransportTests",
      [
        "UsherTransport", "UsherSystem", "UsherCore", "JSONRPC", "UsherTestKit",
        .product(name: "NIOCore", package: "swift-nio"),
      ]),
    tests(
      "UsherSandboxTests",
      [
        "UsherSandbox", "UsherTestKit", crypto,
        .product(name: "CryptoExtras", package: "swift-crypto"),
      ],
      exclude: ["mail_receiver.py"]),
    tests(
      "UsherClientTests", ["UsherClient", "UsherAPI", "UsherCore", "JSONRPC", "UsherTestKit"] + nio),
    tests(
      "UsherKitTests",
      ["UsherKit", "UsherClient", "UsherAPI", "UsherCore", "JSONRPC", "UsherTestKit", crypto] + nio),
    tests(
      "UsherCommandsTests",
      [
        "UsherCommands", "UsherClient", "UsherAPI", "UsherCore", "JSONRPC", "UsherConfig",
        "UsherTestKit",
      ] + nio),
    tests("UsherHelpersTests", ["UsherHelpers", "UsherTestKit"]),
    tests(
      "UsherDaemonTests",
      [
        "UsherDaemon", "UsherStore", "UsherSystem", "UsherTransport", "UsherFlows", "UsherConfig",
        "UsherAPI", "UsherCore", "JSONRPC", "UsherTestKit", logging,
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ] + nio,
      describesMembers: true),
    tests(
      "UsherSimulatorTests",
      ["UsherSimulator", "UsherSandbox", "UsherFlows", "UsherCore", "UsherTestKit"],
      exclude: ["DiskScenarios"]),
    tests("UsherBenchTests", ["usher-bench", "CBench", "UsherTestKit"]),
    // Programs that try to break a promise of the threat model.
    .testTarget(
      name: "EndToEndAttackTests", dependencies: ["JSONRPC", "UsherTestKit"],
      path: "Tests/Attacks", exclude: ["README.md", "scripts"], swiftSettings: strict),
    endToEndTests("BSA", ["UsherKit", "SeedExamples", crypto]),
    endToEndTests("FreedomID", ["UsherKit"]),
    endToEndTests("GoPay", ["UsherKit"]),
    // Tests under a systemd that they boot themselves.
    .testTarget(
      name: "EndToEndLifecycleTests", dependencies: ["JSONRPC", "UsherTestKit"],
      path: "Tests/Lifecycle",
      exclude: [
        "hold_database.py", "https_issuer.py", "old_kernel.py", "stop_thread.py",
        "systemd-in-namespaces",
      ],
      swiftSettings: strict),
    endToEndTests("LocalAuth"),
    endToEndTests("OIDC", ["UsherConfig"]),
    endToEndTests("Paysafe", ["UsherKit", "SeedExamples", "UsherKitUIKitShim", crypto]),
    endToEndTests(
      "Peers",
      exclude: [
        "authlib_server.py", "browser.py", "glewlwyd.py", "idpyoidc_server.py",
        "lemonldap_server.py", "person.py",
      ]),
    endToEndTests("Service"),
    endToEndTests("Simulation"),
    endToEndTests(
      "Socket", exclude: ["any_client.py", "discovered_client.py", "json_schemas.py"]),
    endToEndTests(
      "Survival", ["UsherClient"],
      exclude: ["SystemCallFaults", "fake_provider.py", "socket_holder.py"]),
    endToEndTests("Truecaller", ["UsherKit"]),
  ]
)

if isFuzzing {
  for target in package.targets {
    switch target.name {
    case "CToml": target.cxxSettings = [.unsafeFlags(["-fsanitize=fuzzer-no-link,address"])]
    case "UsherDaemon":
      target.sources = ["Server/LineShape.swift", "Flows/FlowCoder.swift"]
      target.dependencies = ["UsherCore", "JSONRPC", "UsherConfig", "UsherFlows", "UsherStore"]
    default: break
    }
  }
  package.targets += [
    .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
    .executableTarget(
      name: "usher-fuzz", dependencies: ["CFuzzer", "UsherFuzz"], path: "Tests/Fuzz/Program",
      swiftSettings: strict + instrumented,
      linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address", "-use-ld=lld"])]),
  ]
}
