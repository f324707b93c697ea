// json_simdjson FILE: simdjson's opinion of each line, "V", "B" or "-" (blank).
#include <simdjson.h>

#include <cstdio>
#include <fstream>
#include <string>

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::fprintf(stderr, "usage: json_simdjson FILE\n");
		return 2;
	}
	std::ifstream in(argv[1], std::ios::binary);
	simdjson::dom::parser parser;
	std::string line;

	while (std::getline(in, line)) {
		if (line.find_first_not_of(" \t\r") == std::string::npos) {
			std::puts("-");
			continue;
		}
		simdjson::dom::element value;
		auto error = parser.parse(line).get(value);
		std::puts(error ? "B" : "V");
	}
	return 0;
}
